import type { Database } from '../db/database.ts';
import { ledgerEnds } from '../db/tasks/list-task-ends.ts';
import { createWatch, type Watch } from './watch.ts';

/** Follows the ledgers of projects. Nothing announces their entries: the reads of the versions find them. */
export const createLedgerWatch = (db: Database, logger: { warn: (about: object, sentence: string) => void }): Watch =>
  createWatch({
    readVersions: (ids) => ledgerEnds(db, ids),
    logger,
    failure: 'the ledgers whose events clients follow could not be read',
  });
