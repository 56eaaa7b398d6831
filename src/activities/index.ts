import { ApplicationFailure, Context } from '@temporalio/activity';
import { deliverCallback } from '../services/callbacks/deliver-callback.ts';
import { finishTaskOfWorkflow } from '../services/tasks/end/finish-task.ts';
import { runScheduledJob } from '../services/scheduled-jobs/run-scheduled-job.ts';
import { drawAgain, drawChannels, planTask, type UpgradeDeps } from '../services/tasks/create/plan-task.ts';
import { AttemptInterrupted, type AttemptSignals } from '../services/tasks/attempt/run.ts';
import { runAttempt } from '../services/tasks/attempt/run-attempt.ts';
import { stopUpstream } from '../services/tasks/end/stop-upstream.ts';
import type { Deps } from '../deps.ts';
import type { QuietWatch } from '../services/restore/quiet.ts';
import type { ScheduledJobName } from '../domain/tasks/scheduled-job.ts';
import type { AttemptInput, FinishInput } from '../domain/tasks/workflow-contract.ts';

type ActivityDeps = Deps & UpgradeDeps;

/**
 * The commands as Temporal activities. They return every outcome, and throw only for internal errors, which Temporal retries. Once
 * `draining` has fired, no attempt begins. While the database is marked as restored, every activity waits for its release.
 */
export const createActivities = (deps: ActivityDeps, draining: AbortSignal, quiet: QuietWatch) =>
  unlessQuiet(quiet, loudActivities(deps, draining));

const loudActivities = (deps: ActivityDeps, draining: AbortSignal) => {
  const planDeps = { ...deps, random: Math.random };
  return {
    planTask: (taskId: string) => hidingErrors(deps, () => planTask(planDeps, taskId)),
    drawChannels: (taskId: string) => hidingErrors(deps, () => drawChannels(planDeps, taskId)),
    drawAgain: (taskId: string) => hidingErrors(deps, () => drawAgain(planDeps, taskId)),
    finishTask: async (input: FinishInput) => {
      const { status, deliveryId } = await hidingErrors(deps, () => finishTaskOfWorkflow(deps, input));
      // Not awaited: the stop is best effort (rules "Ends") and may take longer than this activity's timeout.
      if (input.outcome.kind !== 'succeeded') void stopUpstream(deps, input.taskId).catch(() => undefined);
      return { status, deliveryId };
    },
    deliver: (deliveryId: string) => withHeartbeats(() => hidingErrors(deps, () => deliverCallback(deps, deliveryId))),
    runJob: (name: ScheduledJobName) => withHeartbeats(() => runScheduledJobOrThrow(deps, name)),
    attempt: (input: AttemptInput) =>
      withHeartbeats((signals, attemptId) =>
        runAttempt(deps, { ...input, ...(attemptId && { attemptId }) }, { ...signals, draining }),
      ),
  };
};
export type Activities = ReturnType<typeof createActivities>;

/** How long an activity waits before it asks again whether the database was released. */
const quietRetry = '1 second';

/** The same activities, which do nothing while the database is marked as restored: Temporal runs them again until it is released. */
function unlessQuiet<Functions extends Record<string, (...args: never[]) => Promise<unknown>>>(
  quiet: QuietWatch,
  functions: Functions,
): Functions {
  const guarded = Object.entries(functions).map(([name, run]) => [
    name,
    async (...args: never[]) => {
      if (!(await quiet.isQuiet())) return run(...args);
      const message = 'the database was restored and is not released';
      throw ApplicationFailure.create({ message, type: 'Quiet', nextRetryDelay: quietRetry });
    },
  ]);
  return Object.fromEntries(guarded) as Functions;
}

/** Logs the full error of an activity, and lets Temporal store only its class in the workflow history. */
async function hidingErrors<T>({ logger }: Pick<Deps, 'logger'>, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { activityType, workflowExecution } = Context.current().info;
    logger.warn(
      { err: error, activity: activityType, workflow_id: workflowExecution?.workflowId },
      'an activity failed and will be retried',
    );
    throw classOnly(error);
  }
}

/** Only the class of an error, because the message of a provider or the database may contain a prompt. */
function classOnly(error: unknown): ApplicationFailure {
  if (error instanceof ApplicationFailure) return error;
  return failureOf(error instanceof Error ? error.name : 'Error');
}

const failureOf = (name: string) => ApplicationFailure.retryable(`the activity failed: ${name}`, name);

/** Throws if the run failed, so that Temporal retries it. The record of the run has the error. */
async function runScheduledJobOrThrow(deps: Deps, name: ScheduledJobName) {
  const result = await runScheduledJob(deps, { name, trigger: 'schedule' });
  // In a retry, the lock may still belong to the worker that died.
  if (!result.ran && Context.current().info.attempt > 1) throw failureOf('JobHeld');
  if (result.ran && result.state === 'failed') throw failureOf('JobFailed');
  return result;
}

/**
 * Runs an activity with heartbeats on a timer, and with separate signals for a cancellation and a shutdown. The heartbeats carry the attempt
 * that has begun, and `work` gets that of an earlier run.
 */
async function withHeartbeats<T>(work: (signals: AttemptSignals, attemptId?: string) => Promise<T>): Promise<T> {
  const context = Context.current();
  const heard: unknown = context.info.heartbeatDetails;
  let attemptId = typeof heard === 'string' ? heard : undefined;
  const noteBegun = (id: string): void => void (attemptId = id);
  const canceled = new AbortController();
  const shutdown = new AbortController();
  const onCancel = () => {
    const details = context.cancellationDetails;
    const unwanted = details?.cancelRequested === true || details?.notFound === true;
    (unwanted ? canceled : shutdown).abort();
  };
  if (context.cancellationSignal.aborted) onCancel();
  else context.cancellationSignal.addEventListener('abort', onCancel, { once: true });
  // The first heartbeat waits for the timer, so that a short activity sends none to the Temporal server.
  const heartbeatMs = (context.info.heartbeatTimeoutMs ?? 30_000) / 3;
  const heartbeat = setInterval(() => context.heartbeat(attemptId), heartbeatMs);
  try {
    return await work({ canceled: canceled.signal, shutdown: shutdown.signal, noteBegun }, attemptId);
  } catch (error) {
    if (attemptId !== undefined) context.heartbeat(attemptId);
    if (error instanceof AttemptInterrupted) throw ApplicationFailure.retryable(error.message, 'AttemptInterrupted');
    throw classOnly(error);
  } finally {
    clearInterval(heartbeat);
    context.cancellationSignal.removeEventListener('abort', onCancel);
  }
}
