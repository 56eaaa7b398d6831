import type { Database } from '../db/database.ts';
import { taskVersions } from '../db/tasks/tasks.ts';
import { createWatch, type Watch } from './watch.ts';

/**
 * Follows tasks. The end of a task is announced by the process that ends it (`end-announcer.ts`). The reads of the versions find the
 * changes that are not announced, such as progress, and ends whose announcement was lost.
 */
export const createTaskWatch = (
  db: Database,
  logger: { warn: (about: object, sentence: string) => void },
  beatMs?: number,
): Watch =>
  createWatch({
    readVersions: (ids) => taskVersions(db, ids),
    logger,
    failure: 'the tasks that clients wait for could not be read',
    ...(beatMs !== undefined && { beatMs }),
  });
