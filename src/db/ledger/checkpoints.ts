import type { Database, Query } from '../database.ts';
import { longValue } from '../long-transaction.ts';

/** The entry up to which the ledger was verified and summed up. */
export interface Checkpoint {
  id: number;
  throughEntryId: number;
  /** The entries of everything that ended before this time have ids up to `throughEntryId`. */
  coversUntil: Date;
}

/** A week of daily checkpoints. */
const kept = 7;

/**
 * Adds the entries since the last checkpoint to its sums and returns the new checkpoint's id, or null if there are no new entries.
 * Entries younger than `lagSeconds` wait for the next one, because entries with lower ids may not be committed yet. Call it only
 * for a ledger that was just verified, because later verifications start from the checkpoint.
 */
export const writeCheckpoint = (database: Database, lagSeconds: number): Promise<number | null> =>
  longValue(database, 'write_ledger_checkpoint', [lagSeconds, kept]);

export async function lastCheckpoint(query: Query): Promise<Checkpoint | null> {
  const [row] = await query<Checkpoint>(
    'last-checkpoint',
    'select id, through_entry_id, covers_until from ledger_checkpoint order by id desc limit 1',
  );
  return row ?? null;
}
