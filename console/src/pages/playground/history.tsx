import { Button, Card, Group, Stack, Text, Title } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { read } from '../../api/admin.ts';
import { playgroundKeyId, sameOrigin, type ClientApi, type Wallet } from '../../api/playground.ts';
import type { Task } from '../../api/client-types.ts';
import { PageLink } from '../../ui/links.tsx';
import { Status, When } from '../../ui/values.tsx';

const shownTasks = 8;

/** The operator's own newest tasks of a project, whose requests can be used again. */
export function History({ api, wallet, reuse }: { api: ClientApi; wallet: Wallet; reuse: (task: Task) => void }) {
  const queryClient = useQueryClient();
  const history = useQuery({
    queryKey: ['playground-history', wallet.projectId],
    queryFn: async () => {
      const key = await playgroundKeyId(queryClient, wallet);
      const { data } = await read('/tasks', { project: wallet.projectId, key, limit: shownTasks });
      return Promise.all(data.map(({ task_id: id }) => api.json<Task>(`/api/v1/tasks/${id}`)));
    },
  });
  if (history.data === undefined || history.data.length === 0) return null;
  return (
    <Card withBorder component="section" aria-labelledby="history">
      <Title order={2} size="h5" id="history" mb="sm">
        Your earlier tasks
      </Title>
      <Stack gap="xs" role="list" aria-label="Your earlier tasks" aria-live="polite">
        {history.data.map((task) => (
          <Group key={task.task_id} role="listitem" gap="sm" wrap="nowrap" justify="space-between">
            <Group gap="sm" wrap="nowrap" miw={0}>
              <Thumbnail task={task} />
              <div className="clipped">
                <Text size="sm" truncate>
                  {promptOf(task) || 'Its content was deleted'}
                </Text>
                <Group gap={6}>
                  <Status of={task.status} />
                  <PageLink to="/tasks/$taskId" params={{ taskId: task.task_id }} size="xs">
                    {task.model}
                  </PageLink>
                  <Text size="xs" c="dimmed">
                    <When at={task.created_at} />
                  </Text>
                </Group>
              </div>
            </Group>
            {task.input !== null && (
              <Button variant="default" size="compact-sm" flex="none" onClick={() => reuse(task)}>
                Use again
              </Button>
            )}
          </Group>
        ))}
      </Stack>
    </Card>
  );
}

/** The prompt that a task was created with; empty once its content was deleted. */
export const promptOf = ({ input }: Task): string => (typeof input?.['prompt'] === 'string' ? input['prompt'] : '');

function Thumbnail({ task }: { task: Task }) {
  const output = task.output?.find(({ mime_type: type }) => type.startsWith('image/'));
  return output === undefined ? null : <img className="thumbnail" src={sameOrigin(output.url)} alt="" loading="lazy" />;
}
