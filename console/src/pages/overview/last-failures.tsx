import { Card, Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { read } from '../../api/admin.ts';
import type { ChatRow, TaskRow } from '../../api/admin-types.ts';
import { words } from '../../ui/format.ts';
import { PageLink } from '../../ui/links.tsx';
import { Loaded } from '../../ui/page.tsx';
import { When } from '../../ui/values.tsx';

const failuresMax = 10;

interface Failure {
  id: string;
  model: string;
  reason: string;
  at: number;
}

/** The last requests that failed, whatever they asked for. Each opens its page. */
export function LastFailures({ hours }: { hours: string }) {
  const failures = useQuery({
    queryKey: ['overview-failures', hours],
    queryFn: async (): Promise<Failure[]> => {
      const [tasks, chats] = await Promise.all([
        read('/tasks', { status: 'failed', created_after: `${hours}h`, limit: failuresMax }),
        read('/chats', { outcome: 'refunded', created_after: `${hours}h`, limit: failuresMax }),
      ]);
      const all = [...tasks.data.map(ofTask), ...chats.data.map(ofChat)];
      return all.toSorted((a, b) => b.at - a.at).slice(0, failuresMax);
    },
  });
  return (
    <Card withBorder component="section" aria-labelledby="last-failures">
      <Title order={2} size="h4" id="last-failures" mb="sm">
        The last failures
      </Title>
      <Loaded of={failures}>
        {(rows) =>
          rows.length === 0 ? (
            <Text size="sm" c="dimmed">
              Nothing failed in this range
            </Text>
          ) : (
            <Table aria-label="The last failures" layout="fixed">
              <Table.Tbody>
                {rows.map(({ id, model, reason, at }) => (
                  <Table.Tr key={id}>
                    <Table.Td className="breakable">
                      {id.startsWith('task_') ? (
                        <PageLink to="/tasks/$taskId" params={{ taskId: id }}>
                          {model}
                        </PageLink>
                      ) : (
                        <PageLink to="/requests/$requestId" params={{ requestId: id }}>
                          {model}
                        </PageLink>
                      )}
                    </Table.Td>
                    <Table.Td className="breakable">{words(reason)}</Table.Td>
                    <Table.Td ta="right">
                      <When at={at} />
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          )
        }
      </Loaded>
    </Card>
  );
}

const ofTask = ({ task_id: id, model, error_code: code, completed_at: end, created_at: begun }: TaskRow): Failure => ({
  id,
  model,
  reason: code ?? 'unknown',
  at: end ?? begun,
});

const ofChat = ({ request_id: id, model, reason, ended_at: end, created_at: begun }: ChatRow): Failure => ({
  id,
  model,
  reason: reason ?? 'unknown',
  at: end ?? begun,
});
