import type { ErrorCode } from '../domain/errors.ts';
import type { Database } from './database.ts';
import { unixSeconds } from './unix-seconds.ts';
import { callLong, longValue } from './long-transaction.ts';

/** The facts about one answered request, without any content. */
export interface DetailRow {
  /** Unix milliseconds by the clock of the API server that answered. */
  atMs: number;
  requestId: string;
  method: string;
  /** The route's template. */
  route: string;
  keyId: string | null;
  modelId: string | null;
  status: number;
  ms: number;
  /** The charge, or the quote of an accepted task. */
  credits: number | null;
  attempts: number | null;
  /** Of an answer that is an error; null for any other. */
  errorCode: ErrorCode | null;
}

/**
 * Writes rows in one statement. `again`: an earlier call may have written some of them, which are skipped. Throws if the partition of a day
 * is missing.
 */
export async function writeDetailRows(database: Database, rows: readonly DetailRow[], again: boolean): Promise<void> {
  await database.query(
    `write-detail-rows${again ? '-again' : ''}`,
    `insert into api_detail (at, request_id, method, route, key_id, model_id, status, ms, credits, attempts, error_code)
     select to_timestamp("atMs" / 1000), "requestId", method, route, "keyId", "modelId", status, ms, credits, attempts, "errorCode"
     from json_to_recordset($1::json) as x (
       "atMs" float8, "requestId" text, method text, route text, "keyId" text, "modelId" text, status int,
       ms int, credits bigint, attempts int, "errorCode" text)
     ${again ? 'where not exists (select from api_detail d where d.at = to_timestamp("atMs" / 1000) and d.request_id = "requestId")' : ''}`,
    // With the names of properties: there is a row for each request, and to rename its members takes as long as to write them.
    [JSON.stringify(rows)],
  );
}

/** How a request was answered, with the names that people gave. */
export interface AnsweredRequest extends Pick<
  DetailRow,
  'requestId' | 'method' | 'route' | 'keyId' | 'modelId' | 'status' | 'ms' | 'errorCode'
> {
  /** Unix seconds. */
  answeredAt: number;
  keyName: string | null;
  projectId: string | null;
  projectName: string | null;
}

/**
 * How a request was answered, or null. A row is found by its time, because there is no index of ids: only those of the first ten minutes after
 * `receivedAtMs`, the time in the id of the request, are read. Requests that take longer have reserved credits, and so rows of their own.
 */
export const findAnsweredRequest = (
  database: Database,
  requestId: string,
  receivedAtMs: number,
): Promise<AnsweredRequest | null> =>
  database.first(
    'find-answered-request',
    `select d.request_id, d.method, d.route, d.key_id, d.model_id, d.status, d.ms, d.error_code, ${unixSeconds('d.at')} as answered_at,
       k.name as key_name, k.project_id, (select p.name from project p where p.id = k.project_id) as project_name
     from api_detail d left join lateral (select name, project_id from api_key where id = d.key_id limit 1) k on true
     -- The clocks of API servers differ a little.
     where d.at >= to_timestamp($2::float8 / 1000) - interval '10 seconds' and d.at < to_timestamp($2::float8 / 1000) + interval '10 minutes'
       and d.request_id = $1 limit 1`,
    [requestId, receivedAtMs],
  );

/** Whether the partition of a row's day is missing (SQLSTATE 23514). */
export const isPartitionMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === '23514';

/** Creates the missing partitions of yesterday, today and tomorrow, by the database clock and UTC; returns how many were missing. */
export const ensureDetailPartitions = (database: Database): Promise<number> =>
  longValue(database, 'ensure_api_detail_partitions', []);

/**
 * Drops the oldest day that is wholly older than `days`, in a transaction of its own; null if there is none. Throws if `migrate`
 * was told to keep more days.
 */
export async function dropDetailPartition(
  database: Database,
  days: number,
): Promise<{ dropped: string; detailRows: number } | null> {
  const rows = await callLong<{ dropped: string; detailRows: number }>(database, 'drop_api_detail_partition', [
    days,
  ]).catch((cause: unknown) => {
    if (!isBelowFloor(cause)) throw cause;
    throw new Error(
      `API_DETAIL_RETENTION_DAYS is ${days} here and was more when "npm run migrate" ran. Run it again with this value.`,
      { cause },
    );
  });
  return rows[0] ?? null;
}

const isBelowFloor = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === '55000';
