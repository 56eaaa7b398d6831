import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ChatLedger } from '../../src/db/chat/chat-ledger.ts';
import type { Database } from '../../src/db/database.ts';
import type { Ledger, NewTask } from '../../src/db/ledger/ledger.ts';
import { RateLimiter } from '../../src/db/projects/rate-limiter.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
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
  patienceMs,
  rowsOf,
  run,
  taskEnd,
  type Book,
  waitForLocks,
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
async function withLostAnswer<T>(action: () => Promise<T>): Promise<T> {
  const before = proxy.cuts();
  proxy.cutNextAnswer();
  const answer = await action();
  expect(proxy.cuts()).toBe(before + 1);
  return answer;
}

describe('a connection that is lost after the commit', () => {
  it('does not change the answer of a create, which writes one task', async () => {
    const book = await openBook(db, { credits: 10 });
    const task = newTask(book, 5, idempotently('lost answer'));
    expect(await withLostAnswer(() => ledger.createTask(task))).toMatchObject({ kind: 'created' });
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
    expect(await entriesOf(db, taskId)).toEqual({ settle: 1 });
    expect(await accountOf(db, book.projectId)).toEqual({ balance: 5, reserved: 0, inFlight: 0 });
  });
});

describe('a request that is sent again after its connection was lost', () => {
  let chats: ChatLedger;
  let limiter: RateLimiter;
  beforeAll(async () => {
    const url = new URL(scratch.url);
    url.port = String(proxy.port);
    const lossy = await scratch.open({ poolMax: 1, via: url.href });
    chats = new ChatLedger(lossy, { membersMax: 8, patienceMs });
    limiter = new RateLimiter(lossy, { membersMax: 8, patienceMs });
    await run(lossy, 'select 1');
  });
  const countedFor = async ({ keyId }: Book) =>
    (await rowsOf<{ n: number }>(db, 'select total as n from rate_window where key_id = $1', [keyId]))[0]?.n;

  it('counts once against the rate of its key', async () => {
    const book = await openBook(db);
    const hits = () => Promise.all([1, 2, 3].map(() => limiter.hit(book.keyId, 2)));
    const verdicts = await withLostAnswer(hits);
    expect(verdicts.map(({ admitted }) => admitted)).toEqual([true, true, false]);
    expect(await countedFor(book)).toBe(2);
    expect(await limiter.hit(book.keyId, 3)).toMatchObject({ admitted: true, remaining: 0 });
  });

  it('counts once if it is a chat that was refused for another reason than its rate', async () => {
    const book = await openBook(db, { credits: 4 });
    const admissions = [5, 3, 5].map((credits) => anAdmission(book, { credits, rpm: 10 }));
    const verdicts = await withLostAnswer(() => Promise.all(admissions.map((admission) => chats.admit(admission))));
    expect(verdicts.map(({ verdict }) => ('code' in verdict ? verdict.code : verdict.kind))).toEqual([
      'insufficient_credits',
      'admitted',
      'insufficient_credits',
    ]);
    expect(await countedFor(book)).toBe(3);
    expect(await accountOf(db, book.projectId)).toMatchObject({ balance: 1, reserved: 3 });
  });

  it('counts once if its first statement still runs', async () => {
    const book = await openBook(db, { credits: 10 });
    const admission = anAdmission(book, { credits: 6, rpm: 10 });
    const pending = await db.transaction('begin', async (query) => {
      await query('', 'select 1 from credit_account where project_id = $1 for update', [book.projectId]);
      const answer = chats.admit(admission);
      await waitForLocks(db, '%admit_chats%');
      proxy.cutAll();
      await waitForLocks(db, '%admit_chats%', 2);
      // The return releases the lock.
      return { answer };
    });
    expect(await pending.answer).toMatchObject({ verdict: { kind: 'admitted' } });
    expect(await countedFor(book)).toBe(1);
    expect(await entriesOf(db, admission.requestId)).toEqual({ hold: 1 });
    expect(await breachesIn(db)).toEqual([]);
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
    expect(await entriesOf(db, admission.requestId)).toEqual({ refund: 1 });
    expect(await accountOf(db, book.projectId)).toMatchObject({ balance: 10, reserved: 0 });
    expect(await breachesIn(db)).toEqual([]);
  });
});

describe('a connection that is killed during a call', () => {
  it('rolls the transaction back, and a second try holds the credits once', async () => {
    const book = await openBook(db, { credits: 10 });
    const tasks: NewTask[] = [newTask(book, 5), newTask(book, 5)];
    for (const task of tasks) await ledger.createTask(task);
    const pending = await db.transaction('begin', async (query) => {
      await query('', 'select 1 from credit_account where project_id = $1 for update', [book.projectId]);
      const waiting = Promise.all(tasks.map(({ taskId }) => ledger.reserveTask(taskId, true)));
      const [pid] = await waitForLocks(db, '%reserve_tasks%');
      await run(db, 'select pg_terminate_backend($1)', [pid]);
      // The return releases the lock before the second try times out.
      return { waiting };
    });
    expect((await pending.waiting).map(({ admitted }) => admitted)).toEqual([true, true]);
    expect(await accountOf(db, book.projectId)).toEqual({ balance: 0, reserved: 10, inFlight: 2 });
    for (const { taskId } of tasks) expect(await entriesOf(db, taskId)).toEqual({ hold: 1 });
    expect(await breachesIn(db)).toEqual([]);
  });
});
