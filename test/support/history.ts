import { openDatabase, type Database } from '../../src/db/database.ts';
import type { Book } from '../db/books.ts';

export interface HistorySize {
  /** Ended chats. Every twentieth needed a second call and has rows in attempt, and has an idempotency key. */
  chats: number;
  /** Succeeded tasks, each with a delivered callback. */
  tasks: number;
}

/** Ids rise with time, as those of the operations do, and have their format, so that routes accept them. */
const id = (prefix: string): string => `'${prefix}_0' || lpad(n::text, 25, '0')`;
/** The id of the n-th task of a history, counted from 1. */
export const historyTask = (n: number): string => `task_0${String(n).padStart(25, '0')}`;
/** The history covers 30 days and ends ten minutes ago. */
const at = (total: number): string =>
  `clock_timestamp() - interval '30 days' * (1 - n::float8 / ${total}) - interval '10 minutes'`;

/** Writes a history as `historyOf` says. */
export const writeHistory = (databaseUrl: string, book: Book, size: HistorySize): Promise<void> =>
  fillDatabase(databaseUrl, async (database) => {
    for (const text of historyOf(book, size)) await database.query('', text);
  });

/** Lets `write` fill a database as the owner of its tables, on one connection, and then lets PostgreSQL know what it has. */
export async function fillDatabase(databaseUrl: string, write: (database: Database) => Promise<void>): Promise<void> {
  const database = openDatabase({
    url: databaseUrl,
    // The settings of the first statement hold for the session.
    poolMax: 1,
    connectTimeoutMs: 60_000,
    statementTimeoutMs: 3_600_000,
  });
  try {
    await write(database);
    for (const text of ['vacuum analyze', 'checkpoint']) await database.query('', text);
  } finally {
    await database.close();
  }
}

/** Counts anew what the keys have spent on the day of their last use and in its month, from the entries of the ledger. */
export const spentOfPeriods = `update api_key k set (day_spent, month_spent) = (
  select coalesce(-sum(e.credits) filter (where (e.began_at at time zone 'UTC')::date = k.used_on), 0),
    coalesce(-sum(e.credits) filter (where date_trunc('month', e.began_at at time zone 'UTC') = date_trunc('month', k.used_on::timestamp)), 0)
  from ledger_entry e where e.key_id = k.id and e.kind in ('settle', 'adjust'))`;

/**
 * The statements that write a history of ended requests of one project, each of which cost one credit. The project needs that many
 * credits. The ledger is consistent afterwards.
 */
export function historyOf({ projectId, keyId }: Book, { chats, tasks }: HistorySize): string[] {
  const who = `'${projectId}', '${keyId}'`;
  const everyChat = `from generate_series(1, ${chats}) n`;
  const everyTwentieth = `from generate_series(1, ${chats}, 20) n`;
  const everyTask = `from generate_series(1, ${tasks}) n`;
  const attempts = (request: string, rows: string, total: number, n: number): string =>
    `insert into attempt (id, request_id, n, channel_id, channel_name, fence, submit_deadline, started_at, model_id, outcome, ended_at)
     select ${id(`att_${n}`)}, ${id(request)}, ${n}, 'chn_${n}', 'channel', 'fence', ${at(total)}, ${at(total)}, 'model-a',
            '${n === 2 || request === 'task' ? 'ok' : 'transient'}', clock_timestamp() ${rows}`;
  const entries = (request: string, rows: string, total: number, earlier: number): string =>
    `insert into ledger_entry (project_id, key_id, request_id, kind, credits, balance_after, model_id, channel_id, held, began_at, created_at)
     select ${who}, ${id(request)}, 'settle', -1,
            (select balance + reserved from credit_account where project_id = '${projectId}') - ${earlier} - n, 'model-a', 'chn_1', 1, ${at(total)}, ${at(total)} ${rows}`;
  return [
    // Skips foreign key checks and triggers, because only the rows that the operations read matter here.
    `set session_replication_role = replica`,
    // The credits were there before the first request.
    `update ledger_entry set created_at = clock_timestamp() - interval '31 days' where project_id = '${projectId}' and kind = 'topup'`,
    attempts('req', everyTwentieth, chats, 1),
    attempts('req', everyTwentieth, chats, 2).replaceAll("'att_2_0'", "'att_3_0'"),
    attempts('task', everyTask, tasks, 1).replaceAll("'att_1_0'", "'att_4_0'"),
    `insert into idempotency (project_id, route, key, fingerprint, request_id, status, expires_at)
     select '${projectId}', '/api/v1/chat/completions', 'key-' || n, 'same', ${id('req')}, 200,
            clock_timestamp() + interval '1 day' ${everyTwentieth}`,
    `insert into task (id, project_id, key_id, request_id, type, model_id, input, snapshot, credits_quoted, callback_url, created_at,
                       deadline_at, admission, last_seen_at)
     select ${id('task')}, ${who}, 'req_t', 'image', 'model-a', '{}', '{}', 1, 'https://example.com/hook', ${at(tasks)},
            ${at(tasks)}, 'reserved', ${at(tasks)} ${everyTask}`,
    `update task set workflow_started_at = created_at, status = 'succeeded', output = '[]', credits_reserved = 1, credits_charged = 1,
       completed_at = created_at + interval '1 second', expires_at = clock_timestamp() + interval '7 days' where completed_at is null`,
    `insert into delivery (id, task_id, project_id, event_id, url, next_attempt_at, created_at)
     select ${id('dlv')}, ${id('task')}, '${projectId}', 'evt_0' || n, 'https://example.com/hook', ${at(tasks)},
            ${at(tasks)} ${everyTask}`,
    `update delivery set state = 'delivered', next_attempt_at = null, ended_at = created_at where state = 'pending'`,
    `insert into delivery_attempt (delivery_id, n, started_at, ended_at, status)
     select ${id('dlv')}, 1, ${at(tasks)}, ${at(tasks)}, 200 ${everyTask}`,
    entries('req', everyChat, chats, 0),
    entries('task', everyTask, tasks, chats),
    `update credit_account set balance = balance - ${chats + tasks} where project_id = '${projectId}'`,
    `update api_key set spent = spent + ${chats + tasks}, used_on = (clock_timestamp() at time zone 'UTC')::date where id = '${keyId}'`,
    `${spentOfPeriods} where k.id = '${keyId}'`,
    `set session_replication_role = origin`,
  ];
}
