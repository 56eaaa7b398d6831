import type { Database } from '../database.ts';
import { undeliveredRoute } from '../idempotency.ts';
import type { FileDraft } from '../files/files.ts';
import { callLong, longTransaction, longValue } from '../long-transaction.ts';

// Each call is one transaction that deletes or marks at most `limit` rows, by the database clock. If it returns fewer, nothing more
// is due. An interrupted call changed nothing.

/** Erases inputs, outputs and callback bodies of ended tasks past their `expires_at`. */
export async function eraseContents(database: Database, limit: number): Promise<{ tasks: number; bodies: number }> {
  const [erased] = await callLong<{ tasks: number; bodies: number }>(database, 'erase_contents', [limit]);
  return erased ?? { tasks: 0, bodies: 0 };
}

/** Deletes ended tasks with their attempts and deliveries, except those of a month whose summary is not frozen. */
export const purgeTasks = (database: Database, seconds: number, limit: number): Promise<number> =>
  longValue(database, 'purge_tasks', [seconds, limit]);

/** Deletes tasks that were never admitted. */
export const purgeRejectedTasks = (database: Database, seconds: number, limit: number): Promise<number> =>
  longValue(database, 'purge_rejected_tasks', [seconds, limit]);

/** Deletes attempts of chats whose hold has ended and whose month is frozen. */
export const purgeChatAttempts = (database: Database, seconds: number, limit: number): Promise<number> =>
  longValue(database, 'purge_chat_attempts', [seconds, limit]);

/** Deletes expired idempotency keys. */
export const purgeIdempotency = (database: Database, limit: number): Promise<number> =>
  purgeKeys(database, 'purge-idempotency', 'expires_at <= clock_timestamp()', limit);

/**
 * Deletes expired rows of tasks and chats that no repetition took over, with the answers, which API.md promises to keep for ten minutes only. Looks
 * five minutes back, so that it reads few rows: `purgeIdempotency` deletes older ones.
 */
export const purgeUndelivered = (database: Database, limit: number): Promise<number> =>
  purgeKeys(
    database,
    'purge-undelivered',
    `expires_at between clock_timestamp() - interval '5 minutes' and clock_timestamp() and route like '${undeliveredRoute('%')}'`,
    limit,
  );

const purgeKeys = (database: Database, name: string, where: string, limit: number): Promise<number> =>
  counted(
    database,
    name,
    `with due as (
       select ctid from idempotency where ${where} order by expires_at limit $1 for update skip locked
     ), gone as (delete from idempotency i using due where i.ctid = due.ctid returning 1)
     select count(*) as n from gone`,
    [limit],
  );

/** Deletes the uses of channels that say no more about a channel's health. */
export const purgeChannelCorroborations = (database: Database, seconds: number, limit: number): Promise<number> =>
  counted(
    database,
    'purge-channel-witnesses',
    `with due as (
       select ctid from channel_witness where used_at < clock_timestamp() - make_interval(secs => $1)
       limit $2 for update skip locked
     ), gone as (delete from channel_witness w using due where w.ctid = due.ctid returning 1)
     select count(*) as n from gone`,
    [seconds, limit],
  );

/** Deletes the tries of ended callbacks. A pending callback keeps its tries. */
export const purgeDeliveryAttempts = (database: Database, seconds: number, limit: number): Promise<number> =>
  counted(
    database,
    'purge-delivery-attempts',
    `with due as (
       select a.ctid from delivery_attempt a join delivery d on d.id = a.delivery_id
       where a.started_at < clock_timestamp() - make_interval(secs => $1) and d.state <> 'pending'
       limit $2 for update of a skip locked
     ), gone as (delete from delivery_attempt a using due where a.ctid = due.ctid returning 1)
     select count(*) as n from gone`,
    [seconds, limit],
  );

/** Marks expired files as deleted, so that no request finds them. A file that a running task uses is kept. */
export const claimExpiredFiles = (database: Database, limit: number): Promise<number> =>
  longValue(database, 'claim_expired_files', [limit]);

/** Files marked as deleted, whose bytes may still exist, in the order of their ids after `afterId`. */
export async function listDeletedFiles(database: Database, afterId: string, limit: number): Promise<FileDraft[]> {
  return database.query<FileDraft>(
    'list-deleted-files',
    'select id, storage_key from file where deleted_at is not null and id > $1 order by id limit $2',
    [afterId, limit],
  );
}

/** Deletes the rows of files whose bytes are deleted. */
export async function forgetFiles(database: Database, ids: readonly string[]): Promise<void> {
  await longTransaction(database, (query) =>
    query('forget-files', 'delete from file where id = any ($1) and deleted_at is not null', [ids]),
  );
}

async function counted(database: Database, name: string, text: string, values: unknown[]): Promise<number> {
  const [row] = await longTransaction(database, (query) => query<{ n: number }>(name, text, values));
  return row?.n ?? 0;
}
