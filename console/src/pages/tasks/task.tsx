import { Button, Card, Code, Group, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { read } from '../../api/admin.ts';
import { taskQuery } from '../../api/queries.ts';
import { isFinal } from '../../api/playground.ts';
import { useMay } from '../../api/session.ts';
import type { TaskTimeline } from '../../api/admin-types.ts';
import { cost, credits, creditsCell, time, words } from '../../ui/format.ts';
import { ExternalLink, Loaded, Page } from '../../ui/page.tsx';
import { Copyable, Facts, Status } from '../../ui/values.tsx';
import { OutputView } from '../playground/results.tsx';
import { TaskActions } from './task-actions.tsx';
import { ForCustomer, StepList } from './step-list.tsx';
import { timelineOf } from './timeline.ts';
import { ResourceLink, ResourceLinks } from '../../ui/links.tsx';

/** One task: what became of it, step by step, and what an operator can do about it. */
export default function TaskPage() {
  const { taskId } = useParams({ from: '/tasks/$taskId' });
  return <TaskDetails taskId={taskId} />;
}

/** What a task came to, on its own page or, with `requestId`, on that of its request. Each has a link to the other. */
export function TaskDetails({ taskId, requestId }: { taskId: string; requestId?: string }) {
  const task = useQuery({
    ...taskQuery(taskId),
    refetchInterval: ({ state }) => (state.data && !isFinal(state.data) ? 2_000 : false),
  });
  return (
    <Page
      title={requestId === undefined ? 'Task' : 'Request'}
      about={<Copyable text={requestId ?? taskId} label="Copy the id" wrap />}
      actions={task.data && <TaskActions task={task.data} />}
    >
      <Loaded of={task}>
        {(data) => (
          <>
            <Summary task={data} isOfRequest={requestId !== undefined} />
            <Content task={data} />
            <StepList steps={timelineOf(data)} taskId={data.task_id} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Summary({ task, isOfRequest }: { task: TaskTimeline; isOfRequest: boolean }) {
  return (
    <Card withBorder>
      <Text mb="md" className="breakable">
        {task.explanation}
      </Text>
      <ForCustomer text={task.for_customer} />
      <Facts
        of={[
          ['Status', <Status key="status" of={task.status} />],
          [
            'Outcome at the provider',
            task.outcome_unknown
              ? task.resolution
                ? `${task.resolution.outcome === 'bought' ? 'Billed' : 'Not billed'} (${task.resolution.reference})`
                : 'Unknown: the provider may have billed it'
              : null,
          ],
          ['Error', task.error_code && <Code key="error">{task.error_code}</Code>],
          ['Model', <ResourceLink key="model" of="model" id={task.model} />],
          ['Project', <ResourceLink key="project" of="project" id={task.project_id} name={task.project_name} />],
          ['Key', <ResourceLink key="key" of="key" id={task.key_id} name={task.key_name} />],
          ['Channels', <ResourceLinks key="channels" of="channel" ids={channelsOf(task)} none={noChannel(task)} />],
          ['Credits', `${credits(task.credits.charged)} charged of ${creditsCell(task.credits.quoted)} quoted`],
          ['Our cost', cost(task.cost_micro_usd, task.unknown_costs)],
          ['Created', time(task.created_at)],
          ['Ended', task.completed_at && time(task.completed_at)],
          ['Task', isOfRequest && <ResourceLink key="task" of="task" id={task.task_id} />],
          ['Request', !isOfRequest && <ResourceLink key="request" of="request" id={task.request_id} />],
          [
            'Callbacks',
            task.deliveries.length === 0 ? null : (
              <ResourceLink
                key="deliveries"
                of="deliveries"
                id={task.task_id}
                name={`${task.deliveries.length} ${task.deliveries.length === 1 ? 'delivery' : 'deliveries'}`}
              />
            ),
          ],
          [
            'Trace',
            task.trace_id && (
              <Code key="trace" className="breakable">
                {task.trace_id}
              </Code>
            ),
          ],
          [
            'Workflow',
            task.workflow_url && (
              <ExternalLink key="workflow" href={task.workflow_url}>
                Open in the Temporal UI
              </ExternalLink>
            ),
          ],
        ]}
      />
    </Card>
  );
}

/** Rows of calls are deleted after some time, and a failover may lose them. */
const noChannel = ({ attempts, outcome_unknown: isUnknown }: TaskTimeline): string =>
  attempts > 0 || isUnknown ? 'Not known any more' : 'None was called';

const channelsOf = ({ attempts_detail: attempts }: TaskTimeline): string[] => [
  ...new Set(attempts.map(({ channel }) => channel)),
];

/** The prompt and the results, which are read only when somebody asks, because that is recorded. */
function Content({ task }: { task: TaskTimeline }) {
  const mayRead = useMay('operator');
  const [isRequested, setIsRequested] = useState(false);
  const content = useQuery({
    queryKey: ['task-content', task.task_id, task.status],
    queryFn: () => read('/tasks/{id}/content', { id: task.task_id }),
    enabled: isRequested,
    staleTime: Infinity,
  });
  if (!mayRead) return null;
  return (
    <Card withBorder component="section" aria-labelledby="content">
      <Title order={2} size="h4" id="content" mb="sm">
        Prompt and results
      </Title>
      {!isRequested ? (
        <Group>
          <Button variant="default" onClick={() => setIsRequested(true)}>
            Show them
          </Button>
          <Text size="sm" c="dimmed">
            This is recorded in the audit log.
          </Text>
        </Group>
      ) : (
        <Loaded of={content}>
          {(data) => (
            <Stack>
              {data.input === null ? (
                <Text c="dimmed">The content was deleted by retention or by its client.</Text>
              ) : (
                <Facts
                  of={Object.entries(data.input).map(([key, value]) => [
                    words(key),
                    typeof value === 'string' ? value : JSON.stringify(value),
                  ])}
                />
              )}
              {data.output?.map((output) => (
                <OutputView key={output.url} output={output} about={`Result of ${task.task_id}`} />
              ))}
            </Stack>
          )}
        </Loaded>
      )}
    </Card>
  );
}
