import { watchChanges } from '../../../caches/watch.ts';
import type { TaskView } from '../../../domain/tasks/task-view.ts';
import type { Deps } from '../../../deps.ts';
import { pause } from '../../../platform/pause.ts';

export type FollowDeps = Pick<Deps, 'taskReader' | 'taskWatch' | 'logger'>;

/** The task now, and again after each of its changes, until `signal` fires. */
export async function* followTask(deps: FollowDeps, taskId: string, signal: AbortSignal): AsyncGenerator<TaskView> {
  for await (const _ of watchChanges(deps.taskWatch, taskId, signal)) {
    const task = await readTask(deps, taskId, signal);
    if (task) yield task;
  }
}

/** A failed read is repeated: if the request failed now, its client might buy a second task. */
async function readTask(
  { taskReader, logger }: FollowDeps,
  taskId: string,
  signal: AbortSignal,
): Promise<TaskView | null> {
  while (!signal.aborted) {
    try {
      return await taskReader.find(taskId);
    } catch (error) {
      logger.warn({ err: error, task_id: taskId }, 'a task could not be read while its client waits for it');
      await pause(retryMs, signal);
    }
  }
  return null;
}

const retryMs = 1_000;
