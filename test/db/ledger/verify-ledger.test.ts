import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Database, Statements } from '../../../src/db/database.ts';
import { writeCheckpoint } from '../../../src/db/ledger/checkpoints.ts';
import { verifyLedger } from '../../../src/db/ledger/verify-ledger.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { admitted, attemptEndedOk, newTask, openBook, openLedger, passDays, rowsOf, run, taskEnd } from '../books.ts';
import { anAdmission, openChatLedger, refundFacts, settledEnd } from '../chat-books.ts';

/** A consistent ledger with a held, a settled, a refunded and a rejected task. */
let sound: TestDatabase;
let db: Database;

beforeAll(async () => {
  sound = await createTestDatabase();
  db = await sound.open();
  const ledger = openLedger(db);
  const book = await openBook(db, { credits: 100, budget: 90 });
  for (const taskId of ['task_held', 'task_settled', 'task_refunded'])
    await admitted(ledger, newTask(book, 10, { taskId }));
  await attemptEndedOk(db, 'task_settled');
  await ledger.finishTask(taskEnd('task_settled', 'succeeded'));
  await ledger.finishTask(taskEnd('task_refunded', 'failed'));
  await ledger.createTask(newTask(book, 10, { taskId: 'task_rejected' }));
  await ledger.finishTask(taskEnd('task_rejected', 'failed'));
  const chats = openChatLedger(db);
  for (const requestId of ['req_settled', 'req_refunded']) {
    const chat = anAdmission(book, { requestId });
    await chats.admit(chat);
    if (requestId === 'req_settled') await chats.end(settledEnd(chat, 1));
    else await chats.refund('upstream_failed', refundFacts(chat));
  }
  expect(await verifyLedger(db, 0)).toMatchObject({ ok: true });
});
afterAll(() => sound.drop());

/** Works on the sound ledger in a transaction that is rolled back, which is faster than a copy of the database. */
async function inVain(work: (db: Database) => Promise<void>): Promise<void> {
  const rolledBack = new Error('rolled back');
  const changing = db.transaction('begin', async (query, inside) => {
    // The transaction that `verifyLedger` begins is this one.
    const transaction: Database['transaction'] = (_begin, verify) => verify(query, inside);
    await work(Object.assign(inside as Statements, { transaction }) as Database);
    throw rolledBack;
  });
  await expect(changing).rejects.toBe(rolledBack);
}

const unlocked = (change: string): string[] => [
  'alter table ledger_entry disable trigger ledger_entry_append_only',
  change,
  'alter table ledger_entry enable trigger ledger_entry_append_only',
];

const heldAgain = (id: string): string =>
  `insert into hold (id, project_id, key_id, kind, model_id, amount, expires_at)
   select id, project_id, key_id, 'media', model_id, amount, clock_timestamp() + interval '1 hour' from reservation where id = '${id}'`;

/** Each breach with the invariant that must report it. Other invariants may report it too. */
const breaches: [invariant: string, breach: string, changes: string[]][] = [
  ['C1', 'a balance without a matching entry', ['update credit_account set balance = balance + 1']],
  ['C1', 'a reserved sum without a matching entry', ['update credit_account set reserved = reserved + 1']],
  ['C1', 'a deleted entry', unlocked(`delete from ledger_entry where request_id = 'task_settled'`)],
  [
    'C1',
    'an entry with a changed amount',
    unlocked(`update ledger_entry set credits = credits + 5 where kind = 'topup'`),
  ],
  ['C1', 'an account without any entries', unlocked('delete from ledger_entry')],
  [
    'C2',
    'an account whose reserved sum is more than its holds',
    ['update credit_account set reserved = reserved + 1, balance = balance - 1'],
  ],
  ['C2', 'a key whose reserved sum is more than its holds', ['update api_key set reserved = reserved + 1']],
  ['C2', 'a key that has spent more than was settled', ['update api_key set spent = spent + 1']],
  ['C2', 'an account with a wrong count of tasks in flight', ['update credit_account set in_flight = in_flight + 1']],
  ['C2', 'a key that has spent more today than was settled', ['update api_key set day_spent = day_spent + 1']],
  ['C2', 'a key that has spent more this month than was settled', ['update api_key set month_spent = month_spent + 1']],
  ['C2', 'a key whose reserved sum of today differs from its holds', ['update api_key set day_reserved = 9']],
  ['C2', 'a key whose reserved sum of this month differs from its holds', ['update api_key set month_reserved = 9']],
  ['C2', 'a key with a wrong count of tasks in flight', ['update api_key set in_flight = in_flight + 1']],
  [
    'C3',
    'a negative balance',
    [
      'alter table credit_account drop constraint credit_account_balance_check',
      'update credit_account set balance = -1',
    ],
  ],
  [
    'C3',
    'a key with negative spending',
    ['alter table api_key drop constraint api_key_spent_check', 'update api_key set spent = -1'],
  ],
  [
    'C3',
    'a balance that was negative after an earlier entry',
    [
      `insert into ledger_entry (project_id, kind, credits, balance_after) select project_id, 'adjust', -1000, balance + reserved - 1000 from credit_account`,
      `insert into ledger_entry (project_id, kind, credits, balance_after) select project_id, 'adjust', 1000, balance + reserved from credit_account`,
    ],
  ],
  [
    'C3',
    'an entry with another balance than the one after it',
    unlocked(`update ledger_entry set balance_after = balance_after + 1 where request_id = 'task_settled'`),
  ],
  ['C4', 'a hold of a request that has ended', [heldAgain('task_settled')]],
  [
    'C4',
    'a second end',
    [
      'drop index ledger_entry_end_idx',
      `insert into ledger_entry (project_id, kind, credits, balance_after, key_id, request_id, model_id, held)
       select project_id, 'refund', 0, 0, key_id, id, model_id, amount from reservation where id = 'task_refunded'`,
    ],
  ],
  [
    'C4',
    'a charge above the hold',
    [
      'alter table ledger_entry drop constraint ledger_entry_check',
      ...unlocked(`update ledger_entry set held = 9 where request_id = 'task_settled'`),
    ],
  ],
  [
    'C5',
    'a hold past its expiry',
    [`update hold set expires_at = clock_timestamp() - interval '2 minutes' where id = 'task_held'`],
  ],
  [
    'C6',
    'a success that was not charged',
    unlocked(`update ledger_entry set kind = 'refund', credits = 0 where request_id = 'task_settled'`),
  ],
  [
    'C6',
    'a failure that was charged',
    unlocked(`update ledger_entry set kind = 'settle', credits = -10 where request_id = 'task_refunded'`),
  ],
  [
    'C6',
    'a failure whose credits are still held',
    [heldAgain('task_refunded'), ...unlocked(`delete from ledger_entry where request_id = 'task_refunded'`)],
  ],
  ['C6', 'a success whose entry is missing', unlocked(`delete from ledger_entry where request_id = 'task_settled'`)],
  ['C6', 'an open task whose hold is missing', [`delete from hold where id = 'task_held'`]],
  [
    'C6',
    'a task whose charge differs from its entries',
    [`update task set credits_charged = 9 where id = 'task_settled'`],
  ],
  [
    'C6',
    'a task whose refund differs from its entries',
    [`update task set credits_refunded = 9 where id = 'task_refunded'`],
  ],
  ['C6', 'an admitted task that was never held', [`update task set admission = 'reserved' where id = 'task_rejected'`]],
  [
    'C6',
    'a charge for a task that was never admitted',
    [`update task set admission = 'rejected' where id = 'task_settled'`],
  ],
  [
    'C10',
    'a chat that is charged fewer tokens than its client received',
    unlocked(`update ledger_entry set output_tokens = 0 where request_id = 'req_settled'`),
  ],
  [
    'C10',
    'a charge without a count for what a client received',
    unlocked(`update ledger_entry set output_tokens = null where request_id = 'req_settled'`),
  ],
  [
    'C10',
    'an answer that a client received for nothing',
    unlocked(`update ledger_entry set credits = 0 where request_id = 'req_settled'`),
  ],
  [
    'C10',
    'a refund of an answer that a client received',
    unlocked(`update ledger_entry set delivered_tokens = 1 where request_id = 'req_refunded'`),
  ],
];

describe('verifyLedger', () => {
  it.each(breaches)('reports in %s %s', async (invariant, _breach, changes) => {
    await inVain(async (db) => {
      for (const change of changes) await run(db, change);
      const report = await verifyLedger(db, 60);
      expect(report.ok).toBe(false);
      expect(report.invariants[invariant]?.breaches).toBeGreaterThan(0);
      expect(report.invariants[invariant]?.examples.length).toBeGreaterThan(0);
    });
  });

  it('accepts an expired hold for as long as one sweep may take', async () => {
    await inVain(async (db) => {
      await run(db, `update hold set expires_at = clock_timestamp() - interval '30 seconds' where id = 'task_held'`);
      expect(await verifyLedger(db, 3_600)).toMatchObject({ ok: true });
      expect(await verifyLedger(db, 5)).toMatchObject({ ok: false });
    });
  });

  it('accepts a charge that an operator gave back, and entries of a release that did not count what it delivered', async () => {
    await inVain(async (db) => {
      await rowsOf(db, `select * from adjust_credits('req_settled', null, 'a complaint')`);
      expect(await verifyLedger(db, 60)).toMatchObject({ ok: true });
      for (const change of unlocked('update ledger_entry set delivered_tokens = null, output_tokens = null'))
        await run(db, change);
      expect(await verifyLedger(db, 60)).toMatchObject({ ok: true });
    });
  });

  it('has no first checkpoint of entries that are all younger than its lag, whatever day they began on', async () => {
    await inVain(async (db) => {
      await passDays(db, -1);
      expect(await writeCheckpoint(db, 0)).toBeNull();
    });
  });

  it('counts every account that breaks an invariant, and names ten of them', async () => {
    await inVain(async (db) => {
      await run(
        db,
        `insert into project (id, name, callback_secret) select 'prj_' || n, 'test', 'sealed' from generate_series(1, 25) n`,
      );
      await run(
        db,
        `insert into credit_account (project_id, balance) select 'prj_' || n, 1 from generate_series(1, 25) n`,
      );
      const { invariants } = await verifyLedger(db, 60);
      expect(invariants['C1']).toMatchObject({ breaches: 25 });
      expect(invariants['C1']?.examples).toHaveLength(10);
    });
  });
});
