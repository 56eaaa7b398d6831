import { Card, Group, Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { read } from '../../api/admin.ts';
import { words } from '../../ui/format.ts';
import { PageLink, ResourceLink } from '../../ui/links.tsx';
import { Loaded } from '../../ui/page.tsx';
import { When } from '../../ui/values.tsx';

const failuresMax = 10;

/**
 * The last requests that began in this range and failed at the gateway or at a provider. Refusals, such as for a content policy, and requests
 * whose client left are no failures; a link opens the refusals.
 */
export function LastFailures({ hours }: { hours: string }) {
  const failures = useQuery({
    queryKey: ['overview-failures', hours],
    queryFn: () => read('/requests', { outcome: 'failed', created_after: `${hours}h`, limit: failuresMax }),
  });
  return (
    <Card withBorder component="section" aria-labelledby="last-failures">
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h4" id="last-failures">
          The last failures
        </Title>
        <Group gap="md">
          <PageLink to="/requests" search={{ outcome: 'failed', created_after: `${hours}h` }} size="sm">
            All failures
          </PageLink>
          <PageLink to="/requests" search={{ outcome: 'refused', created_after: `${hours}h` }} size="sm">
            What providers refused
          </PageLink>
        </Group>
      </Group>
      <Loaded of={failures}>
        {({ data: rows, has_more: hasMore }) =>
          rows.length === 0 ? (
            <Text size="sm" c="dimmed">
              {/* A page of the list looks at a part of the requests only. */}
              {hasMore ? 'None of the latest requests failed' : 'Nothing failed in this range'}
            </Text>
          ) : (
            <Table aria-label="The last failures" className="listed">
              <Table.Tbody>
                {rows.map((row) => (
                  <Table.Tr key={row.request_id}>
                    <Table.Td>
                      <ResourceLink
                        of={row.task_id === null ? 'request' : 'task'}
                        id={row.task_id ?? row.request_id}
                        name={row.model}
                      />
                    </Table.Td>
                    <Table.Td>{words(row.reason ?? 'unknown')}</Table.Td>
                    <Table.Td ta="right">
                      <When at={row.ended_at ?? row.created_at} />
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
