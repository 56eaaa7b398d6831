import type { Database } from '../../src/db/database.ts';
import { rowsOf, run } from './books.ts';

export interface Reads {
  /** Blocks of tables and of their indexes, from memory or from disk. */
  blocks: number;
  /** The growing tables that were read by a sequential scan. */
  scans: string[];
  /** Blocks by table, which helps to find the cause of a failure. */
  tables: Record<string, number>;
}

/**
 * Ends autovacuum in a database, because PostgreSQL's counters do not tell its reads from those of an operation. Its workers also
 * summarize the BRIN indexes of tables that it does not vacuum.
 */
export const stopAutovacuum = (observer: Database): Promise<unknown> =>
  run(
    observer,
    `do $$
    declare each_table regclass;
    declare each_index regclass;
    begin
      for each_table in select oid from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace loop
        execute format('alter table %s set (autovacuum_enabled = off)', each_table);
      end loop;
      for each_index in select i.oid from pg_class i join pg_am a on a.oid = i.relam
        where i.relkind = 'i' and i.relnamespace = 'public'::regnamespace and a.amname = 'brin' loop
        execute format('alter index %s set (autosummarize = off)', each_index);
      end loop;
    end $$`,
  );

const growing = [
  'channel_history',
  'ledger_entry',
  'attempt',
  'task',
  'delivery',
  'delivery_attempt',
  'idempotency',
  'rate_window',
  'audit_entry',
  'job_run',
];

/**
 * Runs work on the only connection of `db` and returns what it read, by the counters of PostgreSQL, which the connection of `observer`
 * reads.
 */
export function readsOf(observer: Database, db: Database): (work: () => Promise<unknown>) => Promise<Reads> {
  const counters = async (): Promise<Map<string, { blocks: number; scans: number }>> => {
    // A session writes its counters at the end of this statement. Those of the observer count here too, if it writes them later.
    for (const session of [db, observer]) await run(session, 'select pg_stat_force_next_flush()');
    await run(observer, 'select pg_stat_clear_snapshot()');
    const rows = await rowsOf<{ relname: string; blocks: number; scans: number }>(
      observer,
      `select relname, seq_scan as scans, heap_blks_read + heap_blks_hit + coalesce(idx_blks_read + idx_blks_hit, 0) as blocks
       from pg_statio_user_tables join pg_stat_user_tables using (relid, relname)`,
    );
    return new Map(rows.map(({ relname, blocks, scans }) => [relname, { blocks, scans }]));
  };
  return async (work) => {
    const before = await counters();
    await work();
    const after = await counters();
    const reads: Reads = { blocks: 0, scans: [], tables: {} };
    for (const [table, { blocks, scans }] of after) {
      const earlier = before.get(table) ?? { blocks: 0, scans: 0 };
      if (blocks > earlier.blocks) reads.tables[table] = blocks - earlier.blocks;
      reads.blocks += blocks - earlier.blocks;
      if (scans > earlier.scans && growing.includes(table)) reads.scans.push(table);
    }
    return reads;
  };
}
