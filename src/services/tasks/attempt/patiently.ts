import { keepWriting } from '../../keep-writing.ts';
import type { AttemptRun } from './run.ts';

/** What is left at least for a write that begins near the task's deadline, or after it: operators need the provider's job. */
const leastMs = 5_000;

/**
 * Repeats a statement of an attempt while the database is unavailable, until the task's deadline. A cancel and a shutdown do not end it:
 * the job may be bought, and what is in memory only would be lost. The fencing token of the attempt protects each write.
 */
export function patiently<T>(
  run: Pick<AttemptRun, 'deps' | 'task' | 'channel' | 'remainingMs'>,
  write: () => Promise<T>,
) {
  const { deps, task, channel, remainingMs } = run;
  const until = performance.now() + Math.max(leastMs, remainingMs());
  return keepWriting(write, {
    leftMs: () => until - performance.now(),
    onTrouble: (error) =>
      deps.logger.warn(
        { err: error, task_id: task.taskId, channel: channel.row.name },
        'the state of an attempt could not be written: it is written again until the deadline of its task',
      ),
  });
}
