import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ChatLedger } from '../../src/db/chat-ledger.ts';
import type { Database } from '../../src/db/database.ts';
import type { Ledger, NewTask } from '../../src/db/ledger.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import {
  accountOf,
  admitted,
  attemptEndedOk,
  breachesIn,
  entriesOf,
  idempotently,
  newTask,
  openBook,
  openLedger,
  rowsOf,
  run,
  taskEnd,
} from './books.ts';
import { anAdmission } from './chat-books.ts';
import { startCuttingProxy, type CuttingProxy } from './cutting-proxy.ts';

let scratch: TestDatabase;
/** The tests' own connection, which does not go through the proxy. */
let db: Database;
let proxy: CuttingProxy;
let ledger: Ledger;

beforeAll(async () => {
  scratch = await createTestDatabase();
  db = await scratch.open();
  const url = new URL(scratch.url);
  proxy = await startCuttingProxy(Number(url.port));
  url.port = String(proxy.port);
  // One connection, so that the discarded answer belongs to the call under test.
  ledger = openLedger(await scratch.open({ poolMax: 1, via: url.href }));
  await ledger.reserveTask('task_warm_up', false);
});
afterAll(async () => {
  await scratch.drop();
  await proxy.close();
});

/** Runs a call whose answer is lost after its commit. */
async function withLostAnswer<T>(verb: () => Promise<T>): Promise<T> {
  const before = proxy.cuts();
  proxy.cutNextAnswer();
  const answer = await verb();
  expect(proxy.cuts()).toBe(before + 1);
  return answer;
}

describe('a connection that is lost after the commit', () => {
  it('does not change the answer of a create, which writes one task', async () => {
    const book = await openBook(db, { credits: 10 });
    const task = newTask(book, 5, idempotently('lost answer'));
    expect(await withLostAnswer(() => ledger.createTask(task))).toEqual({ kind: 'created' });
    expect(await rowsOf(db, 'select id from task where project_id = $1', [book.projectId])).toHaveLength(1);
  });

  it('does not change the verdicts of a batch, which holds the credits once', async () => {
    const book = await openBook(db, { credits: 10 });
    const tasks = [8, 5, 2].map((credits) => newTask(book, credits));
    for (const task of tasks) await ledger.createTask(task);
    const admissions = await withLostAnswer(() =>
      Promise.all(tasks.map(({ taskId }) => ledger.reserveTask(taskId, true))),
    );
    expect(admissions.map(({ admitted, refusalCode }) => refusalCode ?? admitted)).toEqual([
      true,
      'insufficient_credits',
      true,
    ]);
    expect(await accountOf(db, book.projectId)).toEqual({ balance: 0, reserved: 10, inFlight: 2 });
    expect(await entriesOf(db, tasks[0]!.taskId)).toEqual({ hold: 1 });
  });

  it('does not change the answer of a settlement, which charges once', async () => {
    const book = await openBook(db, { credits: 10 });
    const { taskId } = await admitted(ledger, newTask(book, 5));
    await attemptEndedOk(db, taskId);
    expect(await withLostAnswer(() => ledger.finishTask(taskEnd(taskId, 'succeeded')))).toMatchObject({
      status: 'succeeded',
    });
    expect(await entriesOf(db, taskId)).toEqual({ hold: 1, settle: 1 });
    expect(await accountOf(db, book.projectId)).toEqual({ balance: 5, reserved: 0, inFlight: 0 });
  });
});

describe('a connection that is lost after a client received 503', () => {
  it('leaves no hold of the chat', async () => {
    const url = new URL(scratch.url);
    url.port = String(proxy.port);
    const lossy = await scratch.open({ poolMax: 1, via: url.href });
    await run(lossy, 'select 1');
    const chats = new ChatLedger(lossy, { membersMax: 8, patienceMs: 300 });
    const book = await openBook(db, { credits: 10 });
    const admission = anAdmission(book, { credits: 6 });
    await withLostAnswer(async () => {
      await db.transaction('begin', async (query) => {
        await query('', 'select 1 from credit_account where project_id = $1 for update', [book.projectId]);
        await expect(chats.admit(admission)).rejects.toMatchObject({ code: 'ETIMEDOUT' });
      });
      await chats.flush();
    });
    expect(await entriesOf(db, admission.requestId)).toEqual({ hold: 1, refund: 1 });
    expect(await accountOf(db, book.projectId)).toMatchObject({ balance: 10, reserved: 0 });
    expect(await breachesIn(db)).toEqual([]);
  });
});

describe('a connection that is killed during a call', () => {
  it('rolls the transaction back, and a second try holds the credits once', async () => {
    const book = await openBook(db, { credits: 10 });
    const tasks: NewTask[] = [newTask(book, 5), newTask(book, 5)];
    for (const task of tasks) await ledger.createTask(task);
    const asked = await db.transaction('begin', async (query) => {
      await query('', 'select 1 from credit_account where project_id = $1 for update', [book.projectId]);
      const waiting = Promise.all(tasks.map(({ taskId }) => ledger.reserveTask(taskId, true)));
      const pid = await eventually(async () => {
        const [row] = await rowsOf<{ pid: number }>(
          db,
          `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%reserve_tasks%'`,
        );
        return row?.pid;
      });
      await run(db, 'select pg_terminate_backend($1)', [pid]);
      // The return releases the lock before the second try times out.
      return { waiting };
    });
    expect((await asked.waiting).map(({ admitted }) => admitted)).toEqual([true, true]);
    expect(await accountOf(db, book.projectId)).toEqual({ balance: 0, reserved: 10, inFlight: 2 });
    for (const { taskId } of tasks) expect(await entriesOf(db, taskId)).toEqual({ hold: 1 });
    expect(await breachesIn(db)).toEqual([]);
  });
});
