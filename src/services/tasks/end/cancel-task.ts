import type { Config } from '../../../config/load-config.ts';
import {
  findLiveAttempt,
  isCancelPending,
  refuseCancel,
  requestCancel,
  type LiveAttempt,
} from '../../../db/tasks/cancels.ts';
import { findTask } from '../../../db/tasks/tasks.ts';
import { hastenPoll } from '../../../db/tasks/parked-provider-jobs.ts';
import type { Deps } from '../../../deps.ts';
import { GatewayError } from '../../../domain/errors.ts';
import { isTerminal } from '../../../domain/tasks/task.ts';
import type { TaskView } from '../../../domain/tasks/task-view.ts';
import { pause } from '../../../platform/pause.ts';
import { finishTask } from './finish-task.ts';
import { stopProviderJob, stopSecondsMax } from './stop-provider-job.ts';
import { stopUpstream } from './stop-upstream.ts';

export type CancelDeps = Pick<Deps, 'config' | 'db' | 'ledger' | 'logger' | 'channels' | 'adapters' | 'sealer'> & {
  workflows: Pick<Deps['workflows'], 'cancel'>;
};

/**
 * Cancels a task for its client (rules "Ends"). Once the request is recorded, the task submits nothing new. The cancel is
 * granted, with a refund, if nothing was submitted or the upstream confirms that it stopped the job. Otherwise this throws
 * `task_not_cancelable`, and the task goes on with its running job. Canceling a canceled task returns the task again.
 */
export async function cancelTask(deps: CancelDeps, task: TaskView): Promise<TaskView> {
  if (task.status === 'canceled') return task;
  const mark = isTerminal(task.status) ? null : await markToDecide(deps, task.id);
  if (mark !== null) await decideCancel(deps, task.id, mark);
  return readCanceled(deps, task.id);
}

/** Decides a recorded cancel request. Call this with its mark, which the process has set or taken over from a dead one. */
export async function decideCancel(deps: CancelDeps, taskId: string, mark: string): Promise<void> {
  if (await isStopped(deps, taskId)) {
    const { finished } = await finishTask(deps, { taskId, outcome: { kind: 'canceled' } });
    // The workflow of a task that had ended before may still be delivering the callback.
    if (finished) await deps.workflows.cancel(taskId);
    return;
  }
  await refuseCancel(deps.db, taskId, mark);
  // If the task ended meanwhile, that end found the stop claimed and did not send one.
  await stopUpstream(deps, taskId);
}

/**
 * The longest that a decision takes: waiting for a submit, the stop, waiting for its result, and a margin. After that time the
 * process with the mark counts as dead.
 */
export const decisionSecondsMax = ({ cancelWaitSeconds }: Config['tasks']): number =>
  2 * cancelWaitSeconds + stopSecondsMax + marginSeconds;

const marginSeconds = 5;
const readEveryMs = 100;
/** Returns the canceled task; throws `task_not_cancelable` if the task has another status. */
async function readCanceled({ db }: Pick<Deps, 'db'>, taskId: string): Promise<TaskView> {
  const task = await findTask(db, taskId);
  if (task?.status === 'canceled') return task;
  throw new GatewayError('task_not_cancelable', {
    message: task && isTerminal(task.status) ? `The task has ${task.status}.` : undefined,
  });
}

/** The mark under which this process decides the cancel. Null if the task has ended or another request's cancel was decided. */
async function markToDecide({ config, db }: CancelDeps, taskId: string): Promise<string | null> {
  const waitMs = decisionSecondsMax(config.tasks) * 1_000;
  // If the process with the mark dies, the second turn takes the mark over, or waits for the process that took it over first.
  const turns = 2;
  for (let turn = 0; turn < turns; turn++) {
    const requested = await requestCancel(db, taskId, waitMs / 1_000);
    if (requested === 'ended') return null;
    if (requested !== 'joined') return requested.mark;
    for (const until = performance.now() + waitMs; performance.now() < until; await pause(readEveryMs)) {
      if (!(await isCancelPending(db, taskId))) return null;
    }
  }
  return null;
}

/** Whether the task can produce no result any more, because nothing was bought or the upstream stopped the job. */
async function isStopped(deps: CancelDeps, taskId: string): Promise<boolean> {
  const live = await liveAttempt(
    deps,
    taskId,
    ({ operation: providerRef, decided }) => providerRef !== null || decided,
  );
  if (live === null) return true;
  const { operation: providerRef, decided } = live;
  if (decided || providerRef === null) return false;
  const answer = await stopProviderJob(
    deps,
    { ...live, operation: providerRef },
    { running: 'spare', againAfterSeconds: claimSeconds },
  );
  if (answer === 'stopped' || answer === 'not_stopped' || answer === 'unable') return answer === 'stopped';
  // A stop was sent and its result is unknown. The worker that polls the job records how the job ends.
  await hastenPoll(deps.db, live.attemptId);
  return (await liveAttempt(deps, taskId, (attempt) => attempt.decided)) === null;
}

const claimSeconds = stopSecondsMax + marginSeconds;

/** The attempt that may still decide the task, as soon as `isReady` holds or after `cancelWaitSeconds`. Null if there is none. */
async function liveAttempt(
  { config, db }: CancelDeps,
  taskId: string,
  isReady: (attempt: LiveAttempt) => boolean,
): Promise<LiveAttempt | null> {
  const until = performance.now() + config.tasks.cancelWaitSeconds * 1_000;
  for (;;) {
    const live = await findLiveAttempt(db, taskId);
    if (live === null || isReady(live) || performance.now() >= until) return live;
    await pause(readEveryMs);
  }
}
