import type { Database, Query, Statements } from '../database.ts';

/** A database that was restored, for which `tollgate restore release` was not run yet. */
export interface RestoreMark {
  id: number;
  /** The time of the newest row that was restored. */
  restoredThrough: Date;
  markedAt: Date;
}

/**
 * The time of the newest row: of what a request, a chat or a task wrote, and of the runs of jobs, which a worker writes every minute. Time
 * has stood still since then for a database that was restored. Null for an empty one.
 */
export const newestRowSql = `(select greatest(
    (select created_at from ledger_entry order by id desc limit 1), (select max(created_at) from hold),
    (select max(greatest(requested_at, ended_at)) from job_run), (select created_at from task order by id desc limit 1)))`;

const presentMark = `select id, restored_through, marked_at from restore_mark where released_at is null`;

/** The mark that is not released, or null. */
export const findRestoreMark = (database: Statements): Promise<RestoreMark | null> =>
  database.first<RestoreMark>('restore-mark', presentMark, []);

/** Marks the database as restored, unless it is marked. Every worker is quiet within a second. */
export async function markRestored(database: Database): Promise<RestoreMark> {
  const history = await readHistory(database);
  return database.transaction('begin', async (query) => {
    await insertMark(query, history, 'true');
    const [mark] = await query<RestoreMark>('restore-mark', presentMark);
    if (!mark) throw new Error('the mark of the restored database was released at the same time');
    return mark;
  });
}

/**
 * Marks the database as restored for a worker that must start quiet, unless the history of changes that it is on was marked before: a worker
 * that starts again after the release works.
 */
export async function markForQuietStart(database: Database): Promise<void> {
  const history = await readHistory(database);
  await database.transaction('begin', (query) =>
    insertMark(query, history, 'not exists (select from restore_mark where history is not distinct from $1)'),
  );
}

const insertMark = (query: Query, history: string | null, condition: string): Promise<unknown> =>
  query(
    '',
    `insert into restore_mark (restored_through, history)
     select coalesce(${newestRowSql}, clock_timestamp()), $1::text where ${condition} on conflict do nothing`,
    [history],
  );

/** The database cluster and its timeline. Null for a role that may not read them, as on some hosted servers. */
async function readHistory(database: Database): Promise<string | null> {
  const row = await database
    .first<{ history: string }>(
      'database-history',
      `select system_identifier || ' ' || left(pg_walfile_name(pg_current_wal_lsn()), 8) as history from pg_control_system()`,
      [],
    )
    .catch(() => null);
  return row?.history ?? null;
}
