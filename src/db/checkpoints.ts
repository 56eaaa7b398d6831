import type { Database } from './database.ts';
import { longTransaction } from './long-transaction.ts';

/** Up to where the books were proved and added up. */
export interface Checkpoint {
  id: number;
  throughEntryId: number;
  /** Whatever ended before this has its entries at or below `throughEntryId`. */
  coversUntil: Date;
}

/** How many are kept: a week of daily ones. */
const kept = 7;

/**
 * Adds the entries since the last checkpoint to its sums; the new one's id, or null when there is nothing new.
 * `lagSeconds`: entries younger than this wait for the next one, for their neighbours may not be committed. Only for books
 * that were just verified: later proofs start from here.
 */
export async function writeCheckpoint(database: Database, lagSeconds: number): Promise<number | null> {
  const [row] = await longTransaction(database, (query) =>
    query<{ id: number | null }>({ name: 'write-checkpoint', text: 'select write_ledger_checkpoint($1, $2) as id' }, [
      lagSeconds,
      kept,
    ]),
  );
  return row?.id ?? null;
}

/** The newest checkpoint, or null. */
export async function lastCheckpoint(query: Database['query']): Promise<Checkpoint | null> {
  const [row] = await query<Checkpoint>({
    name: 'last-checkpoint',
    text: 'select id, through_entry_id, covers_until from ledger_checkpoint order by id desc limit 1',
  });
  return row ?? null;
}
