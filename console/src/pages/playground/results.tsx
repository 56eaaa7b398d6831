import { Badge, Button, Card, Group, Progress, SimpleGrid, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { read } from '../../api/admin.ts';
import { isFinal, sameOrigin } from '../../api/playground.ts';
import type { Task, TaskOutput } from '../../api/client-types.ts';
import { credits, milliseconds } from '../../ui/format.ts';
import { DownloadIcon, PlaygroundIcon } from '../../ui/icons.tsx';
import { Empty, ErrorAlert } from '../../ui/page.tsx';
import { Status } from '../../ui/values.tsx';
import { CodeButton } from './code-panel.tsx';
import { PageLink } from '../../ui/links.tsx';

/** One press of Generate. */
export interface Run {
  id: string;
  startedAt: number;
  endedAt?: number;
  prompt: string;
  /** The name of the model. */
  model: string;
  /** What was sent, and where. */
  sent: { path: string; body: object };
  task: Task | null;
  error: unknown;
}

/** What the playground made since the page was opened, newest first. */
export function Results({ runs, type, models }: { runs: Run[]; type: 'image' | 'video'; models: readonly string[] }) {
  if (runs.length === 0)
    return (
      <Card withBorder h="100%" component="section" aria-label="Results">
        <Empty title={type === 'image' ? 'Your picture will be here' : 'Your video will be here'}>
          <Stack align="center" gap="xs">
            <PlaygroundIcon size={28} />
            Press Generate. The price is beside the button.
          </Stack>
        </Empty>
      </Card>
    );
  return (
    <SimpleGrid component="section" aria-label="Results" cols={{ base: 1, sm: models.length }}>
      {models.map((model) => (
        <Stack key={model} component="section" aria-label={`Results of ${model}`} gap="md">
          {models.length > 1 && <Text fw={600}>{model}</Text>}
          {runs
            .filter((run) => models.length === 1 || run.model === model)
            .map((run) => (
              <RunCard key={run.id} run={run} />
            ))}
        </Stack>
      ))}
    </SimpleGrid>
  );
}

function RunCard({ run: { task, error, prompt, startedAt, endedAt, sent } }: { run: Run }) {
  const running = endedAt === undefined;
  const elapsed = useElapsed(startedAt, endedAt);
  return (
    <Card withBorder aria-busy={running}>
      <Stack gap="sm">
        {task?.output?.map((output) => (
          <OutputView key={output.url} output={output} about={prompt} />
        ))}
        {running && (
          <div role="status">
            <Progress value={task?.progress ?? 100} animated striped aria-label="Progress of the task" />
            <Text size="sm" mt={6}>
              {task === null
                ? 'Sending the request'
                : task.status === 'queued'
                  ? 'Waiting for its turn'
                  : 'The provider is at work'}
              {task?.progress != null && ` (${task.progress}%)`} · {milliseconds(elapsed)}
            </Text>
          </div>
        )}
        {error !== null && <ErrorAlert error={error} />}
        {task?.error && <ErrorAlert error={new Error(task.error.message)} />}
        <Text size="sm" lineClamp={2}>
          {prompt}
        </Text>
        {task !== null && (
          <Group gap="xs">
            <Status of={task.status} />
            {isFinal(task) && (
              <>
                <Badge variant="default" tt="none" fw={500}>
                  {credits(task.credits.charged)}
                </Badge>
                <Badge variant="default" tt="none" fw={500}>
                  {milliseconds(elapsed)}
                </Badge>
                <Channel taskId={task.task_id} />
              </>
            )}
            <PageLink to="/tasks/$taskId" params={{ taskId: task.task_id }} size="sm" ml="auto">
              Details of this task
            </PageLink>
          </Group>
        )}
        {!running && (
          <Group>
            <CodeButton {...sent} of="this request" size="compact-sm" />
          </Group>
        )}
      </Stack>
    </Card>
  );
}

/** The channel that made the result, which only operators see. */
function Channel({ taskId }: { taskId: string }) {
  const { data } = useQuery({
    queryKey: ['channel-of-task', taskId],
    queryFn: () => read('/tasks/{id}', { id: taskId }),
    staleTime: Infinity,
  });
  const channel = data?.attempts_detail.findLast(({ outcome }) => outcome === 'ok')?.channel;
  return channel === undefined ? null : (
    <Badge variant="default" tt="none" fw={500}>
      {channel}
    </Badge>
  );
}

/** A picture or a video of a task, with a link that saves it. */
export function OutputView({ output, about }: { output: TaskOutput; about: string }) {
  const address = sameOrigin(output.url);
  const isVideo = output.mime_type.startsWith('video/');
  return (
    <Stack gap={6}>
      {isVideo ? (
        <video className="media" src={address} controls loop muted playsInline aria-label={about} />
      ) : (
        <img
          className="media"
          src={address}
          alt={about}
          {...(output.width !== null && { width: output.width })}
          {...(output.height !== null && { height: output.height })}
        />
      )}
      <Group justify="space-between">
        <Text size="xs" c="dimmed">
          {[
            output.width !== null && `${output.width} × ${output.height}`,
            output.duration !== null && `${output.duration} s`,
            output.mime_type,
          ]
            .filter(Boolean)
            .join(' · ')}
        </Text>
        <Button
          component="a"
          href={address}
          download
          variant="subtle"
          size="compact-sm"
          leftSection={<DownloadIcon size={14} />}
        >
          Download
        </Button>
      </Group>
    </Stack>
  );
}

/** Milliseconds since the start, counted while the run goes on. */
function useElapsed(startedAt: number, endedAt: number | undefined): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (endedAt !== undefined) return undefined;
    const timer = setInterval(() => setNow(Date.now()), 100);
    return () => clearInterval(timer);
  }, [endedAt]);
  return Math.max(0, (endedAt ?? now) - startedAt);
}
