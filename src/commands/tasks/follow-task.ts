import type { TaskView } from '../../db/tasks.ts';
import type { Deps } from '../../deps.ts';
import { pause } from '../../platform/pause.ts';

export type FollowDeps = Pick<Deps, 'taskReader' | 'taskWatch' | 'logger'>;

/**
 * The task now, and again after each of its changes, until `signal` fires. A failed read is repeated: if the request failed now, its client
 * might buy a second task.
 */
export async function* followTask(
  { taskReader, taskWatch, logger }: FollowDeps,
  taskId: string,
  signal: AbortSignal,
): AsyncGenerator<TaskView> {
  let isChanged = true;
  let woken = Promise.withResolvers<void>();
  const wake = (): void => woken.resolve();
  const unfollow = taskWatch.follow(taskId, () => {
    isChanged = true;
    wake();
  });
  signal.addEventListener('abort', wake, { once: true });
  try {
    while (!signal.aborted) {
      if (!isChanged) {
        await woken.promise;
        woken = Promise.withResolvers();
        continue;
      }
      isChanged = false;
      try {
        const task = await taskReader.find(taskId);
        if (task) yield task;
      } catch (error) {
        logger.warn({ err: error, task_id: taskId }, 'a task could not be read while its client waits for it');
        await pause(retryMs, signal);
        isChanged = true;
      }
    }
  } finally {
    signal.removeEventListener('abort', wake);
    unfollow();
  }
}

const retryMs = 1_000;
