import type { Database } from './database.ts';
import { longTransaction } from './long-transaction.ts';

/** What is kept of one answered request. Never what was said in it. */
export interface DetailRow {
  /** Unix milliseconds by the clock of the process that answered. */
  atMs: number;
  requestId: string;
  method: string;
  /** The route's template. */
  route: string;
  keyId: string | null;
  projectId: string | null;
  modelId: string | null;
  status: number;
  ms: number;
  /** Charged, or quoted by an accepted task. */
  credits: number | null;
  attempts: number | null;
}

/** Writes rows in one statement; a row that is there already is left alone. Throws when the partition of a day is missing. */
export async function writeDetailRows(database: Database, rows: readonly DetailRow[]): Promise<void> {
  await database.query(
    'write-detail-rows',
    `insert into api_detail (at, request_id, method, route, key_id, project_id, model_id, status, ms, credits, attempts)
     select to_timestamp(at_ms / 1000), request_id, method, route, key_id, project_id, model_id, status, ms, credits, attempts
     from jsonb_to_recordset($1::jsonb) as x (
       at_ms float8, request_id text, method text, route text, key_id text, project_id text, model_id text, status int,
       ms int, credits bigint, attempts int)
     on conflict do nothing`,
    [
      JSON.stringify(
        rows.map((row) => ({
          at_ms: row.atMs,
          request_id: row.requestId,
          method: row.method,
          route: row.route,
          key_id: row.keyId,
          project_id: row.projectId,
          model_id: row.modelId,
          status: row.status,
          ms: row.ms,
          credits: row.credits,
          attempts: row.attempts,
        })),
      ),
    ],
  );
}

/** A row whose day has no partition (SQLSTATE 23514). */
export const isPartitionMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === '23514';

/** Makes the partitions of yesterday, today and tomorrow, by the database's clock and UTC; answers how many were missing. */
export async function ensureDetailPartitions(database: Database): Promise<number> {
  const [row] = await longTransaction(database, (query) =>
    query<{ made: number }>('ensure-detail-partitions', 'select ensure_api_detail_partitions() as made'),
  );
  return row?.made ?? 0;
}

/** Drops the oldest day that is wholly older than `days`, in a transaction of its own; null when there is none. */
export async function dropDetailPartition(
  database: Database,
  days: number,
): Promise<{ dropped: string; rows: number } | null> {
  const [row] = await longTransaction(database, (query) =>
    query<{ dropped: string; rows: number }>(
      'drop-detail-partition',
      'select dropped, detail_rows as rows from drop_api_detail_partition($1)',
      [days],
    ),
  );
  return row ?? null;
}
