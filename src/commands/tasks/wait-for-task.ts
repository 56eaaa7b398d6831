import { findTask, type TaskView } from '../../db/tasks.ts';
import type { Deps } from '../../deps.ts';
import { isTerminal } from '../../domain/task.ts';
import { pause } from '../../platform/pause.ts';

export interface TaskWait {
  /** The longest wait. */
  seconds: number;
  /** Ends the wait early. */
  signal?: AbortSignal;
}

/**
 * Returns the task once it has ended, or its last known state when the wait is over. It polls the row, because every process that
 * ends the task writes the row. A failed read is retried: if the request failed now, the client would buy a second task.
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
      logger.warn({ err: error, task_id: task.id }, 'a task could not be read while its client waits for it');
    }
  }
  return seen;
}

/** The pause before a read: short at first for quick jobs, and later one second. */
const readPauseMs = (reads: number): number => Math.min(250 * 1.2 ** Math.min(reads, 10), 1_000);
