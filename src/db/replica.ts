import type { Database } from './database.ts';

/** Up to where PostgreSQL has flushed its WAL: every commit that was acknowledged is before it. */
export async function readFlushedLsn(primary: Database): Promise<string> {
  const row = await primary.first<{ lsn: string }>('flushed-lsn', 'select pg_current_wal_flush_lsn()::text as lsn', []);
  if (!row) throw new Error('a statement without a condition returned no row');
  return row.lsn;
}

/** Whether a server is a standby, and whether it has replayed the WAL up to a place. */
export async function readReplay(replica: Database, lsn: string): Promise<{ isStandby: boolean; isCurrent: boolean }> {
  const row = await replica.first<{ isStandby: boolean; isCurrent: boolean }>(
    'replayed-lsn',
    `select pg_is_in_recovery() as is_standby, coalesce(pg_last_wal_replay_lsn() >= $1::text::pg_lsn, false) as is_current`,
    [lsn],
  );
  if (!row) throw new Error('a statement without a condition returned no row');
  return row;
}
