import {
  ActivityCancellationType,
  ActivityFailure,
  CancellationScope,
  condition,
  defineSignal,
  defineUpdate,
  isCancellation,
  proxyActivities,
  proxyLocalActivities,
  setCurrentDetails,
  setHandler,
  sleep,
  TimeoutFailure,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { deliverDurably, listenForWakeUps } from './deliver-durably.ts';
import {
  collectSignal,
  reservedUpdate,
  searchAttributes,
  taskQueues,
  type AttemptReport,
  type ChannelDraw,
  type FinishReport,
  type MediaTaskInput,
  type TaskOutcome,
  type TaskPlan,
} from '../domain/workflow-contract.ts';

/**
 * One media task, from its reservation to its settlement or refund. This workflow moves to the next channel; the retry of an
 * activity never does. Returns the task's final status, which is written before the workflow of an admitted task closes.
 */
export async function mediaTask({ taskId, projectId }: MediaTaskInput): Promise<string> {
  const decided: { plan?: TaskPlan } = {};
  // The API server waits for this update, which returns the verdict about credits.
  setHandler(defineUpdate<boolean>(reservedUpdate), async () => {
    await condition(() => decided.plan !== undefined);
    return decided.plan?.admitted ?? false;
  });

  const wakeUps = listenForWakeUps();
  const collects = listenForCollects();
  // Settling and the callback must survive a cancellation. One shared scope, because a scope costs as much as a small query.
  const shielded = new CancellationScope({ cancellable: false });
  const plan = await shielded.run(() => durably((money) => money.planTask(taskId)));
  decided.plan = plan;
  if (!plan.admitted) return 'rejected';
  const deliver = (deliveryId: string) =>
    shielded.run(() => deliverDurably({ deliveryId, projectId, limits: plan.limits }, wakeUps));
  if (plan.ended) {
    if (plan.deliveryId !== null) await deliver(plan.deliveryId);
    return 'ended';
  }

  let cancellation: Error | undefined;
  let outcome: TaskOutcome | Ended;
  try {
    outcome = await tryChannels({ taskId, projectId }, plan, collects);
  } catch (error) {
    if (!(error instanceof Error) || !isCancellation(error)) throw error;
    cancellation = error;
    outcome = { kind: 'canceled' };
  }
  // Also protects the settlement and the callback from a cancellation that arrives now.
  const { status, deliveryId } =
    outcome.kind === 'ended' ? outcome.end : await shielded.run(() => finish(taskId, outcome));
  if (deliveryId !== null) await deliver(deliveryId);
  // The Temporal UI shows a canceled task as canceled, after its credits are back.
  if (cancellation !== undefined) throw cancellation;
  return status;
}

/** Counts the signals that a parked job has ended. */
interface Collects {
  count: number;
}

function listenForCollects(): Collects {
  const collects: Collects = { count: 0 };
  setHandler(defineSignal(collectSignal), () => {
    collects.count += 1;
  });
  return collects;
}

/** The attempt has ended the task. */
interface Ended {
  kind: 'ended';
  end: FinishReport;
}

type TaskIds = Pick<MediaTaskInput, 'taskId' | 'projectId'>;

/** Tries the drawn channels in order until one succeeds, a channel refuses the request, or no channel is left. */
async function tryChannels(task: TaskIds, plan: TaskPlan, collects: Collects): Promise<TaskOutcome | Ended> {
  const lifetimeMs = plan.remainingMs;
  const deadline = Date.now() + lifetimeMs;
  if (lifetimeMs <= 0) return failed('task_timeout');
  let draw = plan.draw;
  let tried = 0;

  for (let waits = 0; ;) {
    const triedBefore = tried;
    let skipped = false;
    for (const channel of draw.channels) {
      setCurrentDetails(`trying ${channel.name}`);
      let seen = collects.count;
      let report = await attemptOn(task, channel, deadline - Date.now(), plan.limits.heartbeatTimeoutMs);
      // Ends at the deadline, because then the attempt reports it.
      while (report.kind === 'parked') {
        setCurrentDetails(`waiting for ${channel.name}`);
        await condition(() => collects.count > seen, Math.max(deadline - Date.now(), 1));
        seen = collects.count;
        report = await attemptOn(task, channel, deadline - Date.now(), plan.limits.heartbeatTimeoutMs);
      }
      if (report.kind === 'skipped') {
        skipped = true;
        continue;
      }
      tried += 1;
      const outcome = outcomeOf(report);
      if (outcome) return outcome;
    }
    // A skipped channel has tripped since the draw, or is running its only permitted call. It becomes available again.
    const nothingLater = !draw.moreLater && !skipped && draw.channels.length > 0;
    if (skipped && tried === triedBefore) {
      if (waits >= plan.limits.channelWaitsMax) break;
      waits += 1;
      await sleep(500 * 2 ** waits);
    }
    if (tried >= plan.limits.attemptsMax || nothingLater) break;

    const waited: ChannelDraw = draw.channels.length > 0 ? await redraw(task.taskId) : draw;
    if (waited.channels.length > 0) {
      draw = waited;
      continue;
    }
    // Every channel is tripped or cooling down. Wait for the first one if a fifth of the lifetime is left after the wait.
    const enoughLeft = waited.waitMs !== null && deadline - Date.now() - waited.waitMs >= lifetimeMs / 5;
    if (waited.waitMs === null || !enoughLeft || waits >= plan.limits.channelWaitsMax) break;
    waits += 1;
    setCurrentDetails('waiting for a channel to become available');
    await sleep(waited.waitMs + 100);
    draw = await redraw(task.taskId);
  }
  return failed(tried > 0 ? 'upstream_failed' : 'no_channel_available');
}

/** The task's outcome after this report; null if the next channel may try. */
function outcomeOf(report: Exclude<AttemptReport, { kind: 'skipped' | 'parked' }>): TaskOutcome | Ended | null {
  switch (report.kind) {
    case 'ok':
      // A run that finds the recorded outcome of an earlier one does not know the task's end.
      return report.end ? { kind: 'ended', end: report.end } : { kind: 'succeeded' };
    case 'transient':
      return null;
    case 'refused':
      return failed(report.code ?? 'upstream_failed');
    case 'unknown':
      return { kind: 'failed', code: 'upstream_outcome_unknown', unknown: true };
    case 'deadline':
    case 'over':
      return failed('task_timeout');
    case 'canceled':
      return { kind: 'canceled' };
  }
}

const failed = (code: Extract<TaskOutcome, { kind: 'failed' }>['code']): TaskOutcome => ({
  kind: 'failed',
  code,
  unknown: false,
});

/**
 * Submit, poll and copy are one activity, which ends early when it parks a long job. The attempt row records its progress, so
 * Temporal may retry it until the deadline.
 */
function attemptOn(
  { taskId, projectId }: TaskIds,
  channel: ChannelDraw['channels'][number],
  remainingMs: number,
  heartbeatTimeoutMs: number,
): Promise<AttemptReport> {
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
  return attempt({ taskId, channelId: channel.id, parkable: true, reportsEnd: true }).catch(
    (error: unknown): AttemptReport => {
      // If no retry fits before the deadline, the cause is the last failure, and only the retry state shows the timeout.
      const timedOut =
        error instanceof ActivityFailure && (error.cause instanceof TimeoutFailure || error.retryState === 'TIMEOUT');
      if (timedOut) return { kind: 'deadline' };
      throw error;
    },
  );
}

const redraw = (taskId: string): Promise<ChannelDraw> => durably((money) => money.drawChannels(taskId));

/** Settles or refunds, once. If another process has ended the task, it returns the status that this process wrote. */
function finish(taskId: string, outcome: TaskOutcome): Promise<FinishReport> {
  if (outcome.kind !== 'succeeded') {
    // A succeeded task saves this event, because its Completed status has the same meaning.
    upsertSearchAttributes({ [searchAttributes.outcome]: [outcome.kind === 'failed' ? outcome.code : outcome.kind] });
  }
  return durably((money) => money.finishTask({ taskId, outcome }));
}

type MoneyActivities = Pick<Activities, 'planTask' | 'drawChannels' | 'finishTask'>;

const local = proxyLocalActivities<MoneyActivities>({
  startToCloseTimeout: '5 seconds',
  retry: { maximumAttempts: 2, initialInterval: '200 milliseconds' },
});
const patient = proxyActivities<MoneyActivities>({
  taskQueue: taskQueues.money,
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '10 seconds' },
});

/**
 * Runs the step as a local activity, which is quick and cheap. If that fails, runs it as a regular activity, which is retried
 * until the database is available. Not an `async` function, because the SDK keeps a stack trace of every promise in a workflow,
 * and each costs as much as a small query.
 */
const durably = <T>(call: (money: MoneyActivities) => Promise<T>): Promise<T> =>
  call(local).catch((error: unknown) => {
    if (isCancellation(error)) throw error;
    return call(patient);
  });
