import {
  ActivityCancellationType,
  ActivityFailure,
  condition,
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  TimeoutFailure,
} from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import {
  collectSignal,
  taskQueues,
  type AttemptReport,
  type ChannelDraw,
  type MediaTaskInput,
} from '../domain/tasks/workflow-contract.ts';

export type TaskIds = Pick<MediaTaskInput, 'taskId' | 'projectId'>;

/** Counts the signals that a parked job has ended. */
export interface Collects {
  count: number;
}

export function listenForCollects(): Collects {
  const collects: Collects = { count: 0 };
  setHandler(defineSignal(collectSignal), () => {
    collects.count += 1;
  });
  return collects;
}

/** What the attempts of one task run with. */
export interface AttemptScope {
  task: TaskIds;
  collects: Collects;
  /** Unix milliseconds by the clock of the workflow. */
  deadline: number;
  heartbeatTimeoutMs: number;
}

type DrawnChannel = ChannelDraw['channels'][number];

/** Makes the attempt on one channel. While the job is parked, it waits for the signal that the job has ended, until the deadline. */
export async function attemptOn(
  scope: AttemptScope,
  channel: DrawnChannel,
): Promise<Exclude<AttemptReport, { kind: 'parked' }>> {
  const { collects, deadline } = scope;
  setCurrentDetails(`trying ${channel.name}`);
  let attemptId: string | undefined;
  for (;;) {
    const seen = collects.count;
    const report = await runAttemptActivity(scope, channel, attemptId);
    if (report.kind !== 'parked') return report;
    attemptId = report.attemptId;
    setCurrentDetails(`waiting for ${channel.name}`);
    // Ends at the deadline, because then the attempt reports it.
    await condition(() => collects.count > seen, Math.max(deadline - Date.now(), 1));
  }
}

/**
 * Submit, poll and copy are one activity, which ends early when it parks a long job. The attempt row records its progress, so
 * Temporal may retry it until the deadline.
 */
function runAttemptActivity(
  { task: { taskId, projectId }, deadline, heartbeatTimeoutMs }: AttemptScope,
  channel: DrawnChannel,
  attemptId: string | undefined,
): Promise<AttemptReport> {
  const remainingMs = deadline - Date.now();
  if (remainingMs <= 0) return Promise.resolve({ kind: 'deadline' });
  const { attempt } = proxyActivities<Activities>({
    taskQueue: taskQueues.attempts,
    // The activity itself stops at the deadline by the database clock. This timeout ends an activity that no worker runs.
    scheduleToCloseTimeout: remainingMs + 2_000,
    heartbeatTimeout: heartbeatTimeoutMs,
    retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds' },
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    priority: { fairnessKey: projectId },
    summary: channel.name,
  });
  const input = {
    taskId,
    channelId: channel.id,
    parkable: true,
    reportsEnd: true,
    ...(attemptId && { attemptId }),
  } as const;
  return attempt(input).catch((error: unknown): AttemptReport => {
    // If no retry fits before the deadline, the cause is the last failure, and only the retry state shows the timeout.
    const timedOut =
      error instanceof ActivityFailure && (error.cause instanceof TimeoutFailure || error.retryState === 'TIMEOUT');
    if (timedOut) return { kind: 'deadline' };
    throw error;
  });
}
