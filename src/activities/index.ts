import { ApplicationFailure, Context } from '@temporalio/activity';
import { deliverCallback } from '../commands/callbacks/deliver-callback.ts';
import { finishTask } from '../commands/tasks/finish-task.ts';
import { runJob } from '../commands/jobs/run-job.ts';
import { drawChannels, planTask } from '../commands/tasks/plan-task.ts';
import { AttemptInterrupted, type AttemptSignals } from '../commands/tasks/attempt/run.ts';
import { runAttempt } from '../commands/tasks/run-attempt.ts';
import { stopUpstream } from '../commands/tasks/stop-upstream.ts';
import type { Deps } from '../deps.ts';
import type { JobName } from '../domain/job.ts';
import type { AttemptInput, FinishInput } from '../domain/workflow-contract.ts';

/** Commands as Temporal sees them. They return outcomes; what they throw is our own trouble and is retried. */
export const createActivities = (deps: Deps) => {
  const planDeps = { ...deps, random: Math.random };
  return {
    planTask: (taskId: string) => inConfidence(deps, () => planTask(planDeps, taskId)),
    drawChannels: (taskId: string) => inConfidence(deps, () => drawChannels(planDeps, taskId)),
    finishTask: async (input: FinishInput) => {
      const { status, deliveryId } = await inConfidence(deps, () => finishTask(deps, input));
      // Not waited for: it may take longer than the books may be kept open, and is best effort (rules "Ends").
      if (input.outcome.kind !== 'succeeded') void stopUpstream(deps, input.taskId).catch(() => undefined);
      return { status, deliveryId };
    },
    deliver: (deliveryId: string) => inConfidence(deps, () => deliverCallback(deps, deliveryId)),
    runJob: (name: JobName) => asLongActivity(() => runScheduledJob(deps, name)),
    attempt: (input: AttemptInput) => asLongActivity((signals) => runAttempt(deps, input, signals)),
  };
};
export type Activities = ReturnType<typeof createActivities>;

/** Temporal keeps what an activity throws in the history: our log has the trouble, the history its kind. */
async function inConfidence<T>({ logger }: Pick<Deps, 'logger'>, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { activityType, workflowExecution } = Context.current().info;
    logger.warn(
      { err: error, activity: activityType, workflow_id: workflowExecution?.workflowId },
      'will be tried again',
    );
    throw kindOnly(error);
  }
}

/** What a provider or the database said may hold a prompt: Temporal hears only what kind of trouble it was. */
function kindOnly(error: unknown): ApplicationFailure {
  const kind = error instanceof Error ? error.name : 'Error';
  return ApplicationFailure.retryable(`it could not go on: ${kind}`, kind);
}

/** Thrown so that Temporal tries again; the record of the run says what was wrong. */
async function runScheduledJob(deps: Deps, name: JobName) {
  const result = await runJob(deps, { name, trigger: 'schedule' });
  // At a later try the lock may still be that of the worker that died.
  if (!result.ran && Context.current().info.attempt > 1) throw new JobHeld();
  if (result.ran && result.state === 'failed') throw new JobFailed();
  return result;
}

class JobHeld extends Error {
  override name = 'JobHeld';
}
class JobFailed extends Error {
  override name = 'JobFailed';
}

/** Heartbeats on a timer of its own from before the first call, and tells a cancellation from a shutdown. */
async function asLongActivity<T>(work: (signals: AttemptSignals) => Promise<T>): Promise<T> {
  const context = Context.current();
  const canceled = new AbortController();
  const shutdown = new AbortController();
  const onCancel = () => {
    const details = context.cancellationDetails;
    const unwanted = details?.cancelRequested === true || details?.notFound === true;
    (unwanted ? canceled : shutdown).abort();
  };
  if (context.cancellationSignal.aborted) onCancel();
  else context.cancellationSignal.addEventListener('abort', onCancel, { once: true });
  // The first beat comes with the timer: a short attempt then costs the server no call beside its own.
  const heartbeatMs = (context.info.heartbeatTimeoutMs ?? 30_000) / 3;
  const beat = setInterval(() => context.heartbeat(), heartbeatMs);
  try {
    return await work({ canceled: canceled.signal, shutdown: shutdown.signal });
  } catch (error) {
    if (error instanceof AttemptInterrupted) throw ApplicationFailure.retryable(error.message, 'AttemptInterrupted');
    throw kindOnly(error);
  } finally {
    clearInterval(beat);
    context.cancellationSignal.removeEventListener('abort', onCancel);
  }
}
