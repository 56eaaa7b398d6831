import type { FollowDeps } from '../../services/tasks/show/follow-task.ts';
import { waitForTask } from '../../services/tasks/show/wait-for-task.ts';
import type { TaskView } from '../../domain/tasks/task-view.ts';
import { isTerminal } from '../../domain/tasks/task.ts';
import type { AppContext } from '../context.ts';
import type { TaskWaits } from '../response/task-waits.ts';

export type WaitDeps = FollowDeps & { taskWaits: TaskWaits };

/** After a wait that was not held. Polls at this pace cost less than the work on the tasks. */
const RETRY_AFTER_SECONDS = 2;

/**
 * The task when it has ended, or as it is when the time is over, the client has left, too many requests wait or the server stops. In the last
 * two cases `Retry-After` says when to ask again, because a client that waits asks again immediately.
 */
export async function waitForEnd(deps: WaitDeps, ctx: AppContext, task: TaskView, seconds: number): Promise<TaskView> {
  if (seconds === 0 || isTerminal(task.status)) return task;
  const waiting = deps.taskWaits.enter(ctx);
  try {
    const latest = waiting === null ? task : await waitForTask(deps, task, { seconds, signal: waiting.signal });
    const isHeld = waiting !== null && !waiting.signal.aborted;
    if (!isHeld && !isTerminal(latest.status)) ctx.set('Retry-After', String(RETRY_AFTER_SECONDS));
    return latest;
  } finally {
    waiting?.leave();
  }
}
