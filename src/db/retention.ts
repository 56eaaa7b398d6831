import type { Database } from './database.ts';
import { longTransaction } from './long-transaction.ts';

/**
 * The counts of one call. Every function below deletes expired data, by the clock of the database, in one transaction of at most
 * `limit` rows. A smaller result means that no more rows have expired. An interrupted call changes nothing.
 */
export interface ErasedContents {
  tasks: number;
  bodies: number;
}

/** Erases inputs, outputs and callback bodies of ended tasks past their `expires_at`. */
export async function eraseContents(database: Database, limit: number): Promise<ErasedContents> {
  const [row] = await longTransaction(database, (query) =>
    query<ErasedContents>('erase-contents', 'select tasks, bodies from erase_contents($1)', [limit]),
  );
  return { tasks: row?.tasks ?? 0, bodies: row?.bodies ?? 0 };
}

/** Deletes ended tasks with their attempts and deliveries, but not those of a month that is not frozen yet. */
export const purgeTasks = (database: Database, seconds: number, limit: number): Promise<number> =>
  counted(database, 'purge-tasks', 'select purge_tasks($1, $2) as n', [seconds, limit]);

/** Deletes tasks that were never admitted. */
export const purgeRejectedTasks = (database: Database, seconds: number, limit: number): Promise<number> =>
  counted(database, 'purge-rejected-tasks', 'select purge_rejected_tasks($1, $2) as n', [seconds, limit]);

/** Deletes attempts of chats whose hold has ended and whose month is frozen. */
export const purgeChatAttempts = (database: Database, seconds: number, limit: number): Promise<number> =>
  counted(database, 'purge-chat-attempts', 'select purge_chat_attempts($1, $2) as n', [seconds, limit]);

/** Deletes expired idempotency keys. */
export const purgeIdempotency = (database: Database, limit: number): Promise<number> =>
  counted(
    database,
    'purge-idempotency',
    `with due as (
       select ctid from idempotency where expires_at <= clock_timestamp() order by expires_at limit $1 for update skip locked
     ), gone as (delete from idempotency i using due where i.ctid = due.ctid returning 1)
     select count(*) as n from gone`,
    [limit],
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
  counted(database, 'claim-expired-files', 'select claim_expired_files($1) as n', [limit]);

export interface DeletedFile {
  id: string;
  storageKey: string;
}

/** Files that are marked as deleted and whose bytes may still exist, ordered by id, after `afterId`. */
export async function listDeletedFiles(database: Database, afterId: string, limit: number): Promise<DeletedFile[]> {
  return database.query<DeletedFile>(
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
