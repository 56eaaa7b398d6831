import { waitForTask } from '../../commands/tasks/wait-for-task.ts';
import { isTerminal } from '../../domain/task.ts';
import type { AppContext } from '../context.ts';
import { queryWholeNumber } from '../query.ts';
import type { TaskWaits } from '../task-waits.ts';

export type WaitDeps = Parameters<typeof waitForTask>[0] & { taskWaits: TaskWaits };

type Task = Awaited<ReturnType<typeof waitForTask>>;

const WAIT_SECONDS_MAX = 60;

/** The query parameter `wait`, in seconds; undefined if it is absent. Throws `invalid_value`. */
export const queryWait = (ctx: AppContext): number | undefined =>
  queryWholeNumber(ctx, 'wait', { min: 0, max: WAIT_SECONDS_MAX });

/** The task when it has ended, or as it is when the time is over, the client has left, too many requests wait or the server stops. */
export async function waitForEnd(deps: WaitDeps, ctx: AppContext, task: Task, seconds: number): Promise<Task> {
  const waiting = seconds === 0 || isTerminal(task.status) ? null : deps.taskWaits.enter(ctx);
  if (waiting === null) return task;
  try {
    return await waitForTask(deps, task, { seconds, signal: waiting.signal });
  } finally {
    waiting.leave();
  }
}
