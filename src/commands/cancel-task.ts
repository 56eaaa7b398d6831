import {
  claimStop,
  findLiveAttempt,
  isCancelPending,
  requestCancel,
  withdrawCancel,
  type LiveAttempt,
} from '../db/cancels.ts';
import { findTask, type TaskView } from '../db/tasks.ts';
import type { Deps } from '../deps.ts';
import { GatewayError } from '../domain/errors.ts';
import { isTerminal } from '../domain/task.ts';
import { pause } from '../platform/pause.ts';
import { finishTask } from './finish-task.ts';
import { usableCredential } from './open-credential.ts';

type CancelDeps = Pick<Deps, 'config' | 'db' | 'ledger' | 'logger' | 'workflows' | 'channels' | 'adapters' | 'sealer'>;

const lookEveryMs = 100;
const stopTimeoutMs = 10_000;
const workflowTimeoutMs = 2_000;

/**
 * A client's cancel (design "Ends"). From the moment it is asked for, nothing new is submitted. It is granted, with refund,
 * when nothing was submitted or the upstream confirms the stop; else `task_not_cancelable`, and the task goes on. Canceling
 * a canceled task answers it again.
 */
export async function cancelTask(deps: CancelDeps, task: TaskView): Promise<TaskView> {
  if (task.status === 'canceled') return task;
  const asked = isTerminal(task.status) ? 'ended' : await requestCancel(deps.db, task.id);
  if (asked === 'ended' || (asked === 'joined' && (await decidedByAnother(deps, task.id))))
    return standing(deps, task.id);
  const live = await submittedAttempt(deps, task.id);
  const stopped = live === null || (live !== 'unclear' && (await stopAt(deps, live)));
  if (!stopped) {
    await withdrawCancel(deps.db, task.id);
    return standing(deps, task.id);
  }
  await finishTask(deps, { taskId: task.id, outcome: { kind: 'canceled' } });
  await deps.workflows.cancel(task.id, workflowTimeoutMs);
  return standing(deps, task.id);
}

/** What stands now: a canceled task is the answer, anything else is the refusal. */
async function standing({ db }: Pick<Deps, 'db'>, taskId: string): Promise<TaskView> {
  const task = await findTask(db, taskId);
  if (task?.status === 'canceled') return task;
  throw new GatewayError('task_not_cancelable', {
    message: task && isTerminal(task.status) ? `The task has ${task.status}.` : undefined,
  });
}

/** Waits for what the cancel before this one comes to; false when whoever asked for it seems to be gone. */
async function decidedByAnother({ config, db }: CancelDeps, taskId: string): Promise<boolean> {
  for (let looks = 0; looks < looksMax(config); looks++) {
    if (!(await isCancelPending(db, taskId))) return true;
    await pause(lookEveryMs);
  }
  return false;
}

const looksMax = ({ CANCEL_WAIT_SECONDS }: CancelDeps['config']): number =>
  Math.max(1, (CANCEL_WAIT_SECONDS * 1000) / lookEveryMs);

/** The job to stop: null when nothing was submitted; `unclear` when a submit was not answered in the time we wait. */
async function submittedAttempt({ config, db }: CancelDeps, taskId: string): Promise<LiveAttempt | null | 'unclear'> {
  for (let looks = 0; looks < looksMax(config); looks++) {
    const live = await findLiveAttempt(db, taskId);
    if (!live || live.operation || live.decided) return live;
    await pause(lookEveryMs);
  }
  return 'unclear';
}

async function stopAt(deps: CancelDeps, { attemptId, channelId, operation }: LiveAttempt): Promise<boolean> {
  const channel = await deps.channels.find(channelId);
  const adapter = channel && deps.adapters[channel.adapter];
  if (!channel || !operation || !adapter?.cancelMedia) return false;
  const credential = usableCredential(deps, channel);
  if (credential === null) return false;
  // One request to stop per job, whoever asks.
  if (!(await claimStop(deps.db, attemptId))) return false;
  const upstream = { channelId, baseUrl: channel.baseUrl, credential };
  const answer = await adapter
    .cancelMedia(upstream, operation, { signal: AbortSignal.timeout(stopTimeoutMs), running: 'spare' })
    .catch(() => 'not_stopped' as const);
  return answer === 'stopped';
}
