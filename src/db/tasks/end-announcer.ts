import type { Database } from '../database.ts';
import { GroupCommit } from '../group-commit.ts';

export interface EndAnnouncer {
  /** Tells all processes that this task has ended. Never throws: a request that waits for the task also reads it. */
  announce(taskId: string): void;
  flush(): Promise<void>;
}

/** PostgreSQL allows 8,000 bytes for a notification. */
const idsMax = 200;

/**
 * Notifies the listeners of all processes (`listen.ts`) of ended tasks. It has a statement of its own after the commit of the end, because
 * commits with a notification wait for each other. Ends that are committed meanwhile share the next statement.
 */
export function createEndAnnouncer(
  database: Database,
  logger: { warn: (about: object, sentence: string) => void },
): EndAnnouncer {
  const group = new GroupCommit<string, true>({
    membersMax: idsMax,
    run: async (ids) => {
      await database.query('announce-ends', `select pg_notify('tollgate_change', $1)`, [`ended ${ids.join(' ')}`]);
      return ids.map(() => true);
    },
  });
  return {
    announce(taskId) {
      group.submit(taskId).catch((error: unknown) => {
        logger.warn(
          { err: error, task_id: taskId },
          'the end of a task was not announced to the requests that wait for it',
        );
      });
    },
    flush: () => group.flush(),
  };
}
