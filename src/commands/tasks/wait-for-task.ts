import { findTask, type TaskView } from '../../db/tasks.ts';
import type { Deps } from '../../deps.ts';
import { isTerminal } from '../../domain/task.ts';
import { pause } from '../../platform/pause.ts';

export interface TaskWait {
  /** At most this long. */
  seconds: number;
  /** Ends the wait early. */
  signal?: AbortSignal;
}

/**
 * The task once it has ended, or as it was last seen when the wait is over; it goes on then. The row is polled, for whoever
 * ends the task writes it there. A database that is away is asked again: the task exists, and a request that fails now
 * would make its client buy another.
 */
export async function waitForTask(
  { db, logger }: Pick<Deps, 'db' | 'logger'>,
  task: TaskView,
  { seconds, signal }: TaskWait,
): Promise<TaskView> {
  const until = performance.now() + seconds * 1000;
  let seen = task;
  for (let look = 0; !isTerminal(seen.status) && !signal?.aborted; look += 1) {
    const leftMs = until - performance.now();
    if (leftMs <= 0) break;
    await pause(Math.min(lookPauseMs(look), leftMs), signal);
    try {
      seen = (await findTask(db, task.id)) ?? seen;
    } catch (error) {
      logger.warn({ err: error, task_id: task.id }, 'a look at a task failed');
    }
  }
  return seen;
}

/** Quick jobs are answered quickly, and a crowd that waits for slow ones costs one look a second each. */
const lookPauseMs = (look: number): number => Math.min(250 * 1.2 ** Math.min(look, 10), 1_000);
