import type { Database } from './database.ts';
import { longTransaction } from './long-transaction.ts';

/**
 * What is deleted when its time is over, by the database's clock. Each call is one transaction of at most `limit` rows;
 * fewer than asked for means that nothing more is due. A call that was interrupted changed nothing.
 */
export interface ErasedContents {
  tasks: number;
  bodies: number;
}

/** Inputs, outputs and callback bodies of ended tasks past their `expires_at`. */
export async function eraseContents(database: Database, limit: number): Promise<ErasedContents> {
  const [row] = await longTransaction(database, (query) =>
    query<ErasedContents>('erase-contents', 'select tasks, bodies from erase_contents($1)', [limit]),
  );
  return { tasks: row?.tasks ?? 0, bodies: row?.bodies ?? 0 };
}

/** Ended tasks with their attempts and deliveries; those of a month that is not summarised for good stay. */
export const purgeTasks = (database: Database, seconds: number, limit: number): Promise<number> =>
  counted(database, 'purge-tasks', 'select purge_tasks($1, $2) as n', [seconds, limit]);

/** Tasks that were never admitted. */
export const purgeRejectedTasks = (database: Database, seconds: number, limit: number): Promise<number> =>
  counted(database, 'purge-rejected-tasks', 'select purge_rejected_tasks($1, $2) as n', [seconds, limit]);

/** Attempts of chats that hold nothing any more, once their month is summarised for good. */
export const purgeChatAttempts = (database: Database, seconds: number, limit: number): Promise<number> =>
  counted(database, 'purge-chat-attempts', 'select purge_chat_attempts($1, $2) as n', [seconds, limit]);

/** Idempotency keys, each past its own `expires_at`. */
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

/** Tries of callbacks that have ended; a callback that is still on its way keeps its own. */
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

/** Marks files past their `expires_at` as deleted, so that nobody finds them; one that a live task names is left alone. */
export const claimExpiredFiles = (database: Database, limit: number): Promise<number> =>
  counted(database, 'claim-expired-files', 'select claim_expired_files($1) as n', [limit]);

export interface DeletedFile {
  id: string;
  storageKey: string;
}

/** Files marked as deleted whose row is still there: their bytes may be too. In the order of their ids, after `afterId`. */
export async function listDeletedFiles(database: Database, afterId: string, limit: number): Promise<DeletedFile[]> {
  return database.query<DeletedFile>(
    'list-deleted-files',
    'select id, storage_key from file where deleted_at is not null and id > $1 order by id limit $2',
    [afterId, limit],
  );
}

/** Forgets files whose bytes are gone. */
export async function forgetFiles(database: Database, ids: readonly string[]): Promise<void> {
  await longTransaction(database, (query) =>
    query('forget-files', 'delete from file where id = any ($1) and deleted_at is not null', [ids]),
  );
}

async function counted(database: Database, name: string, text: string, values: unknown[]): Promise<number> {
  const [row] = await longTransaction(database, (query) => query<{ n: number }>(name, text, values));
  return row?.n ?? 0;
}
