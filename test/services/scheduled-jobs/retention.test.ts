import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { anyRedeliveries } from '../../../src/services/callbacks/redeliver-callback.ts';
import { runMaintenance, MaintenanceError } from '../../../src/services/scheduled-jobs/maintenance.ts';
import { firstAttemptId, type AttemptEnding, type ChatLedger } from '../../../src/db/chat/chat-ledger.ts';
import { ensureDetailPartitions, writeDetailRows } from '../../../src/db/detail-rows.ts';
import type { Database } from '../../../src/db/database.ts';
import { startRedelivery } from '../../../src/db/callbacks/deliveries.ts';
import { findTask } from '../../../src/db/tasks/tasks.ts';
import { findFile, recordFile } from '../../../src/db/files/files.ts';
import type { Ledger } from '../../../src/db/ledger/ledger.ts';
import { verifyLedger } from '../../../src/db/ledger/verify-ledger.ts';
import {
  admitted,
  attemptEndedOk,
  newTask,
  openBook,
  openLedger,
  rowsOf,
  run,
  taskEnd,
  type Book,
} from '../../db/books.ts';
import { anAdmission, openChatLedger } from '../../db/chat-books.ts';
import { awayFromMidnight } from '../../support/away-from-midnight.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { moveEntries, moveRequest, openUpkeep, type Upkeep } from './upkeep.ts';
import { spec } from '../../spec/spec.ts';

await awayFromMidnight();

const daysAgo = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString();

/** One expired row of each kind, and one that has not expired. */
let template: TestDatabase;
let book: Book;
let copy: TestDatabase;
let db: Database;
let upkeep: Upkeep;

beforeAll(async () => {
  template = await createTestDatabase();
  const database = await template.open();
  const ledger = openLedger(database);
  const chats = openChatLedger(database);
  book = await openBook(database, { credits: 1_000 });
  await writeEndedTasks(database, ledger);
  await writeRefusals(database, ledger, chats);
  await writeFiles(database, ledger);
  await writeDetails(database);
  expect(await verifyLedger(database, 60)).toMatchObject({ ok: true });
});

/** Tasks that succeeded at different times, with their attempts, deliveries and entries. */
async function writeEndedTasks(database: Database, ledger: Ledger): Promise<void> {
  const succeeded = async (taskId: string, over: Parameters<typeof newTask>[2] = {}): Promise<void> => {
    await admitted(ledger, newTask(book, 10, { taskId, ...over }));
    await attemptEndedOk(database, taskId);
    await run(database, `update attempt set result = '[]', model_id = 'model-a' where request_id = $1`, [taskId]);
    await ledger.finishTask(taskEnd(taskId, 'succeeded'));
  };
  const callbackUrl = 'https://receiver.example/hook';
  for (const id of ['erased', 'waiting', 'fresh']) await succeeded(`task_${id}`, { callbackUrl });
  for (const id of ['purged', 'unsummarised', 'hundred_days']) await succeeded(`task_${id}`);
  await run(
    database,
    `update task set expires_at = clock_timestamp() - interval '1 second' where id in ('task_erased', 'task_waiting')`,
  );
  await run(database, `update delivery set body = '{"prompt":"a red fox"}'`);
  await run(
    database,
    `update delivery set state = 'delivered', ended_at = clock_timestamp(), next_attempt_at = null where task_id <> 'task_waiting'`,
  );
  await run(
    database,
    `insert into delivery_attempt (delivery_id, n, started_at)
     select id, n, clock_timestamp() - n * interval '29 days' from delivery, generate_series(1, 2) n`,
  );
  for (const id of ['purged', 'unsummarised']) await moveRequest(database, `task_${id}`, daysAgo(401));
  await run(database, `update attempt set started_at = clock_timestamp() where request_id = 'task_unsummarised'`);
  // As old as a chat whose attempts are deleted, but not a chat.
  await moveRequest(database, 'task_hundred_days', daysAgo(100));
  await moveEntries(database, `kind = 'topup'`, daysAgo(402));
}

/** Rejected tasks, refunded chats and idempotency keys. */
async function writeRefusals(database: Database, ledger: Ledger, chats: ChatLedger): Promise<void> {
  for (const taskId of ['task_rejected_old', 'task_rejected_new']) {
    await ledger.createTask(newTask(book, 10, { taskId }));
    await ledger.finishTask(taskEnd(taskId, 'failed'));
  }
  await run(database, `update task set completed_at = $1 where id = 'task_rejected_old'`, [daysAgo(1.1)]);

  for (const [requestId, days] of [
    ['req_old', 100],
    ['req_new', 0],
  ] as const) {
    const chat = anAdmission(book, { requestId });
    await chats.admit(chat);
    // Only a call that failed has a row of its own.
    const attempt = {
      attemptId: firstAttemptId(requestId),
      outcome: 'refused',
      errorClass: null,
      status: 400,
      detail: null,
    } as const;
    await chats.refund('request_refused', { requestId, attempt });
    await moveRequest(database, requestId, daysAgo(days));
  }

  await run(
    database,
    `insert into idempotency (project_id, route, key, fingerprint, request_id, expires_at)
     select $1, '/route', n, 'print', 'req_' || n, clock_timestamp() + n * interval '1 hour' from generate_series(-4, 1) n`,
    [book.projectId],
  );
}

/** Files that have expired, of which a running task uses one, and one that has not. */
async function writeFiles(database: Database, ledger: Ledger): Promise<void> {
  await admitted(
    ledger,
    newTask(book, 10, { taskId: 'task_live', input: { prompt: 'a fox', reference_images: ['file_in_use'] } }),
  );
  for (const [id, taskId] of [
    ['file_expired_a', 'task_erased'],
    ['file_expired_b', null],
    ['file_expired_c', null],
    ['file_in_use', null],
    ['file_of_live', 'task_live'],
    ['file_kept', null],
  ] as const) {
    await recordFile(database, {
      id,
      projectId: book.projectId,
      taskId,
      purpose: 'upload',
      storageKey: `uploads/${id}`,
      mimeType: 'image/png',
      bytes: 3,
      sha256: 'aa',
      width: 1,
      height: 1,
      duration: null,
      keptSeconds: id === 'file_kept' ? 3_600 : -1,
    });
  }
}

async function writeDetails(database: Database): Promise<void> {
  await ensureDetailPartitions(database);
  for (const days of [29, 30, 31, 32, 40]) {
    const day = daysAgo(days).slice(0, 10);
    await run(
      database,
      `create table api_detail_${day.replaceAll('-', '')} partition of api_detail
       for values from ('${day} 00:00:00+00') to ('${daysAgo(days - 1).slice(0, 10)} 00:00:00+00')`,
    );
    await writeDetailRows(database, [aRow(days, `req_${days}`)], false);
  }
}
afterAll(() => template.drop());

const aRow = (days: number, requestId: string) => ({
  atMs: Date.now() - days * 86_400_000,
  requestId,
  method: 'GET',
  route: '/api/v1/models',
  keyId: null,
  modelId: null,
  status: 200,
  ms: 1,
  credits: null,
  attempts: null,
  errorCode: null,
});

beforeEach(async () => {
  copy = await createTestDatabase({ template });
  db = await copy.open();
  upkeep = await openUpkeep(await copy.open({ via: copy.runtimeUrl }));
  await storeBytes(upkeep);
});
afterEach(async () => {
  upkeep.removeFolder();
  await copy.drop();
});

const fileIds = ['file_expired_a', 'file_expired_b', 'file_expired_c', 'file_in_use', 'file_of_live', 'file_kept'];

async function storeBytes({ files }: Upkeep): Promise<void> {
  for (const id of fileIds)
    await files.put(`uploads/${id}`, Buffer.from('abc'), { maxBytes: 3, contentType: 'image/png' });
}

const idsOf = async (table: string, column = 'id', order = column): Promise<unknown[]> =>
  (await rowsOf<{ id: unknown }>(db, `select ${column} as id from ${table} order by ${order}`)).map(({ id }) => id);

describe('retention', () => {
  it('deletes and counts expired data of each kind and keeps all other data', async () => {
    spec('4.8 scheduled-maintenance');
    const summary = await runMaintenance(upkeep);
    expect(summary).toMatchObject({
      tasks_erased: 1,
      callback_bodies_erased: 1,
      files_deleted: 3,
      files_failed: 0,
      idempotency_keys_deleted: 5,
      delivery_attempts_deleted: 2,
      rejected_tasks_deleted: 1,
      tasks_deleted: 1,
      chat_attempts_deleted: 1,
      detail_partitions_dropped: 3,
      detail_rows_dropped: 3,
      ledger_breaches: [],
      failed_steps: [],
    });
    expect(await idsOf('task')).toEqual(
      ['erased', 'fresh', 'hundred_days', 'live', 'rejected_new', 'unsummarised', 'waiting'].map((id) => `task_${id}`),
    );
    expect(await idsOf('api_detail', 'request_id')).toEqual(['req_29', 'req_30']);
    expect(await idsOf('idempotency', 'key')).toEqual(['1']);
    expect(await idsOf('attempt', 'request_id')).toEqual(
      ['req_new', 'task_erased', 'task_fresh', 'task_hundred_days', 'task_unsummarised', 'task_waiting'].sort(),
    );
    // The ledger is kept forever, and it stays consistent without the deleted rows.
    expect(await idsOf('reservation')).toContain('task_purged');
    expect(await verifyLedger(db, 60)).toMatchObject({ ok: true });
  });

  it('deletes an attempt without an outcome once its chat has ended, but none of a chat whose hold is open', async () => {
    const chats = openChatLedger(db);
    const ending = (attemptId: string): AttemptEnding => ({
      attemptId,
      outcome: 'transient',
      errorClass: null,
      status: null,
      detail: null,
    });
    for (const name of ['over', 'held']) {
      const requestId = `req_${name}`;
      const ended = ending(firstAttemptId(requestId));
      await chats.admit(anAdmission(book, { requestId }));
      const next = { attemptId: `att_${name}_2`, n: 2, channelId: 'chn_b', channelName: 'channel-b' };
      expect(await chats.nextAttempt({ requestId, ended, ...next })).toBe(true);
    }
    // The API server ends the chat without knowing that its second attempt was written.
    const facts = { requestId: 'req_over', attempt: ending(firstAttemptId('req_over')) };
    await chats.refund('upstream_failed', facts);
    const left = () =>
      rowsOf(db, `select id, outcome from attempt where request_id in ('req_over', 'req_held') order by id`);
    const held = [
      { id: 'att_held', outcome: 'transient' },
      { id: 'att_held_2', outcome: null },
    ];
    expect(await left()).toEqual([
      ...held,
      { id: 'att_over', outcome: 'transient' },
      { id: 'att_over_2', outcome: null },
    ]);
    await moveRequest(db, 'req_over', daysAgo(100));
    await run(db, `update attempt set started_at = $1 where request_id = 'req_held'`, [daysAgo(100)]);
    await runMaintenance(upkeep);
    expect(await left()).toEqual(held);
  });

  it('erases the input, the output and the callback URL of a task, and refuses to send its callback again', async () => {
    const callbackBefore = (await findTask(db, 'task_erased'))?.callback;
    await runMaintenance(upkeep);
    const rows = await rowsOf(
      db,
      `select t.id, t.input is null and t.output is null as erased, t.credits_charged, d.body is null as body_erased,
         a.result is null and a.outputs is null as results_erased, t.callback_url is null and d.url is null as urls_erased
       from task t join delivery d on d.task_id = t.id join attempt a on a.request_id = t.id order by t.id`,
    );
    const all = { creditsCharged: 10 };
    expect(rows).toEqual([
      { id: 'task_erased', erased: true, bodyErased: true, resultsErased: true, urlsErased: true, ...all },
      { id: 'task_fresh', erased: false, bodyErased: false, resultsErased: false, urlsErased: false, ...all },
      // Its callback is not delivered yet, so nothing is erased.
      { id: 'task_waiting', erased: false, bodyErased: false, resultsErased: false, urlsErased: false, ...all },
    ]);
    const again = (taskId: string) =>
      startRedelivery(db, { taskId, deliveryId: `dlv_${taskId}`, eventId: `evt_${taskId}`, limits: anyRedeliveries });
    expect(callbackBefore).toMatchObject({ state: 'delivered' });
    expect((await findTask(db, 'task_erased'))?.callback).toEqual(callbackBefore);
    expect(await again('task_erased')).toBe('erased');
    expect(await again('task_fresh')).toBe('started');
  });

  it('deletes the bytes of a file with its row, but never those of a file that a running task uses', async () => {
    await runMaintenance(upkeep);
    expect(await idsOf('file')).toEqual(['file_in_use', 'file_kept', 'file_of_live']);
    for (const id of fileIds) {
      expect(await upkeep.files.exists(`uploads/${id}`)).toBe(!id.startsWith('file_expired'));
    }
    await openLedger(db).finishTask(taskEnd('task_live', 'failed'));
    expect(await runMaintenance(upkeep)).toMatchObject({ files_deleted: 2 });
    expect(await idsOf('file')).toEqual(['file_kept']);
    expect(await findFile(db, 'file_kept')).not.toBeNull();
  });

  it('keeps the row of a file whose bytes cannot be deleted, and the next run deletes both', async () => {
    const failing = {
      ...upkeep.files,
      delete: (key: string) =>
        key.endsWith('_b') ? Promise.reject(new Error('the disk is unavailable')) : upkeep.files.delete(key),
    };
    expect(await runMaintenance({ ...upkeep, files: failing })).toMatchObject({ files_deleted: 2, files_failed: 1 });
    expect(await idsOf('file')).toContain('file_expired_b');
    expect(await runMaintenance(upkeep)).toMatchObject({ files_deleted: 1, files_failed: 0 });
    expect(await idsOf('file')).not.toContain('file_expired_b');
    expect(await upkeep.files.exists('uploads/file_expired_b')).toBe(false);
  });

  it('changes nothing if it runs again', async () => {
    await runMaintenance(upkeep);
    const dump = await everything();
    expect(await runMaintenance(upkeep)).toMatchObject({
      tasks_erased: 0,
      files_deleted: 0,
      idempotency_keys_deleted: 0,
      delivery_attempts_deleted: 0,
      tasks_deleted: 0,
      chat_attempts_deleted: 0,
      detail_partitions_dropped: 0,
      detail_partitions_made: 0,
    });
    expect(await everything()).toEqual(dump);
  });

  it('has the same result if it is killed in any transaction and runs again', async () => {
    spec('4.8 scheduled-maintenance');
    await runMaintenance(upkeep);
    const expected = await everything();
    for (const at of [2, 6, 12, 18, 24, 30]) {
      await copy.drop();
      copy = await createTestDatabase({ template });
      await storeBytes(upkeep);
      const small = { batchMax: 2 };
      const doomed = await copy.open();
      dieAt(doomed, at);
      await expect(runMaintenance({ ...upkeep, db: doomed }, small)).rejects.toBeInstanceOf(MaintenanceError);
      db = await copy.open();
      await runMaintenance({ ...upkeep, db }, small);
      expect(await everything()).toEqual(expected);
      for (const id of fileIds) {
        expect(await upkeep.files.exists(`uploads/${id}`)).toBe(!id.startsWith('file_expired'));
      }
    }
  });

  it('stops between two batches if its signal is aborted', async () => {
    const stop = new AbortController();
    stop.abort();
    expect(await runMaintenance(upkeep, { signal: stop.signal })).toMatchObject({
      interrupted: true,
      tasks_deleted: 0,
    });
    expect(await idsOf('task')).toContain('task_purged');
  });
});

/** Makes this database connection fail from its nth transaction on, at the end of that transaction. */
function dieAt(database: Database, nth: number): void {
  const transaction = database.transaction.bind(database);
  let seen = 0;
  database.transaction = async (begin, work) => {
    seen += 1;
    return transaction(begin, async (query, inside) => {
      const value = await work(query, inside);
      if (seen >= nth) throw new Error('killed');
      return value;
    });
  };
}

/** All data that maintenance may change, without the times at which it ran. */
async function everything(): Promise<unknown> {
  const tables = {
    task: '*',
    attempt: '*',
    delivery: '*',
    delivery_attempt: '*',
    file: '*',
    idempotency: '*',
    monthly_summary: '*',
    summary_month: 'month, frozen_at is not null as frozen',
    daily_summary: '*',
    summary_day: 'day, through_entry_id, frozen_at is not null as frozen',
    ledger_checkpoint_account: 'project_id, credits',
    api_detail: '*',
  };
  const dump: Record<string, unknown> = {};
  for (const [table, columns] of Object.entries(tables)) {
    dump[table] = await rowsOf(db, `select to_jsonb(t) as row from (select ${columns} from ${table}) t order by 1`);
  }
  return dump;
}
