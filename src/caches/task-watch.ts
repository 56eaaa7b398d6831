import type { Database } from '../db/database.ts';
import { taskVersions } from '../db/tasks.ts';

/** Tells the requests of this process that wait for tasks when these may have changed. */
export interface TaskWatch {
  /** Calls `changed` after each change of the task, until the returned function is called. It may also be called without a change. */
  follow(taskId: string, changed: () => void): () => void;
  /** These tasks have changed; without ids all of them may have. */
  announce(taskIds: readonly string[]): void;
  close(): void;
}

interface Followed {
  followers: Set<() => void>;
  /** As it was last read. */
  version: string | null;
}

/**
 * The end of a task is announced by the process that ends it (`end-announcer.ts`). Every `beatMs`, one statement reads the versions of all
 * followed tasks, however many requests wait for them: it finds the changes that are not announced, such as progress, and ends whose announcement was lost.
 */
export function createTaskWatch(
  db: Database,
  logger: { warn: (about: object, sentence: string) => void },
  beatMs = 1_000,
): TaskWatch {
  const tasks = new Map<string, Followed>();
  let isReading = false;

  const beat = async (): Promise<void> => {
    if (isReading || tasks.size === 0) return;
    isReading = true;
    try {
      for (const { id, version } of await taskVersions(db, [...tasks.keys()])) {
        const task = tasks.get(id);
        if (!task || task.version === version) continue;
        task.version = version;
        wake(task);
      }
    } catch (error) {
      logger.warn({ err: error, tasks: tasks.size }, 'the tasks that clients wait for could not be read');
    } finally {
      isReading = false;
    }
  };
  const timer = setInterval(() => void beat(), beatMs).unref();

  return {
    follow(taskId, changed) {
      const task = tasks.get(taskId) ?? { followers: new Set(), version: null };
      tasks.set(taskId, task);
      task.followers.add(changed);
      return () => {
        task.followers.delete(changed);
        if (task.followers.size === 0 && tasks.get(taskId) === task) tasks.delete(taskId);
      };
    },
    announce(taskIds) {
      for (const id of taskIds.length === 0 ? tasks.keys() : taskIds) {
        const task = tasks.get(id);
        if (task) wake(task);
      }
    },
    close: () => clearInterval(timer),
  };
}

const wake = ({ followers }: Followed): void => {
  for (const changed of followers) changed();
};
