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
 * The task once it has ended, or its last known state when the wait is over. Polls the row, because every process that ends the
 * task writes it there. While the database is away it tries again: a request that failed now would make the client buy a second
 * task.
 */
export async function waitForTask(
  { db, logger }: Pick<Deps, 'db' | 'logger'>,
  task: TaskView,
  { seconds, signal }: TaskWait,
): Promise<TaskView> {
  const until = performance.now() + seconds * 1000;
  let seen = task;
  for (let reads = 0; !isTerminal(seen.status) && !signal?.aborted; reads += 1) {
    const leftMs = until - performance.now();
    if (leftMs <= 0) break;
    await pause(Math.min(readPauseMs(reads), leftMs), signal);
    try {
      seen = (await findTask(db, task.id)) ?? seen;
    } catch (error) {
      logger.warn({ err: error, task_id: task.id }, 'a waited-for task could not be read');
    }
  }
  return seen;
}

/** Short at first for quick jobs; later each waiting request costs one read a second. */
const readPauseMs = (reads: number): number => Math.min(250 * 1.2 ** Math.min(reads, 10), 1_000);
