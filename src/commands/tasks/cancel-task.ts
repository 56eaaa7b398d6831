import type { Config } from '../../config/load-config.ts';
import { findLiveAttempt, isCancelPending, refuseCancel, requestCancel, type LiveAttempt } from '../../db/cancels.ts';
import { findTask, type TaskView } from '../../db/tasks.ts';
import type { Deps } from '../../deps.ts';
import { GatewayError } from '../../domain/errors.ts';
import { isTerminal } from '../../domain/task.ts';
import { pause } from '../../platform/pause.ts';
import { finishTask } from './finish-task.ts';
import { stopJob, stopSecondsMax } from './stop-job.ts';
import { stopUpstream } from './stop-upstream.ts';

export type CancelDeps = Pick<Deps, 'config' | 'db' | 'ledger' | 'logger' | 'channels' | 'adapters' | 'sealer'> & {
  workflows: Pick<Deps['workflows'], 'cancel'>;
};

/**
 * A client's cancel (rules "Ends"). From the moment it is asked for, nothing new is submitted. It is granted, with refund,
 * when nothing was submitted or the upstream confirms the stop; else `task_not_cancelable`, and the task goes on with the job
 * that it has, which was left alone. Canceling a canceled task answers it again.
 */
export async function cancelTask(deps: CancelDeps, task: TaskView): Promise<TaskView> {
  if (task.status === 'canceled') return task;
  const mark = isTerminal(task.status) ? null : await markToDecide(deps, task.id);
  if (mark !== null) await decideCancel(deps, task.id, mark);
  return standing(deps, task.id);
}

/** Decides a cancel that was asked for: by whoever asked, or after that one's death by somebody who took its mark over. */
export async function decideCancel(deps: CancelDeps, taskId: string, mark: string): Promise<void> {
  if (await isStopped(deps, taskId)) {
    const { finished } = await finishTask(deps, { taskId, outcome: { kind: 'canceled' } });
    // Of a task that had ended before, the workflow may be busy with its callback.
    if (finished) await deps.workflows.cancel(taskId, workflowTimeoutMs);
    return;
  }
  await refuseCancel(deps.db, taskId, mark);
  // An end that came meanwhile found the stop claimed, and left it to us.
  await stopUpstream(deps, taskId);
}

/** After so long whoever decides about a cancel is gone: a submit waited for, the stop, what came of it, and a margin. */
export const decisionSecondsMax = ({ cancelWaitSeconds }: Config['tasks']): number =>
  2 * cancelWaitSeconds + stopSecondsMax + marginSeconds;

const marginSeconds = 5;
const readEveryMs = 100;
const workflowTimeoutMs = 2_000;

/** What stands now: a canceled task is the answer, anything else is the refusal. */
async function standing({ db }: Pick<Deps, 'db'>, taskId: string): Promise<TaskView> {
  const task = await findTask(db, taskId);
  if (task?.status === 'canceled') return task;
  throw new GatewayError('task_not_cancelable', {
    message: task && isTerminal(task.status) ? `The task has ${task.status}.` : undefined,
  });
}

/** The mark of a cancel that is ours to decide; null when it is decided: the task had ended, or another cancel came first. */
async function markToDecide({ config, db }: CancelDeps, taskId: string): Promise<string | null> {
  const waitMs = decisionSecondsMax(config.tasks) * 1_000;
  // Who waited for one that died takes over, or waits for whoever was quicker to.
  const turns = 2;
  for (let turn = 0; turn < turns; turn++) {
    const asked = await requestCancel(db, taskId, waitMs / 1_000);
    if (asked === 'ended') return null;
    if (asked !== 'joined') return asked.mark;
    for (const until = performance.now() + waitMs; performance.now() < until; await pause(readEveryMs)) {
      if (!(await isCancelPending(db, taskId))) return null;
    }
  }
  return null;
}

/** Whether nothing will come of the task any more, because nothing was bought or because the upstream stopped it. */
async function isStopped(deps: CancelDeps, taskId: string): Promise<boolean> {
  const live = await liveAttempt(deps, taskId, ({ operation, decided }) => operation !== null || decided);
  if (live === null) return true;
  const { operation, decided } = live;
  if (decided || operation === null) return false;
  const answer = await stopJob(deps, { ...live, operation }, { running: 'spare', againAfterSeconds: claimSeconds });
  if (answer === 'stopped' || answer === 'not_stopped' || answer === 'unable') return answer === 'stopped';
  // A stop is on its way, ours or another's: whoever polls the job sees what comes of it.
  return (await liveAttempt(deps, taskId, (attempt) => attempt.decided)) === null;
}

const claimSeconds = stopSecondsMax + marginSeconds;

/** The attempt that may still decide the task, once `isReady` or as it stands after `cancelWaitSeconds`; null when none is left. */
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
