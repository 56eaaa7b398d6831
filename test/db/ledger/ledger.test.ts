import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { addCredits } from '../../../src/services/ledger/add-credits.ts';
import type { Database } from '../../../src/db/database.ts';
import type { CreateVerdict, Ledger } from '../../../src/db/ledger/ledger.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import {
  accountOf,
  addKey,
  admitted,
  attemptEndedOk,
  breachesIn,
  entriesOf,
  idempotently,
  newId,
  newTask,
  openBook,
  openLedger,
  rowsOf,
  run,
  taskEnd,
} from '../books.ts';

let scratch: TestDatabase;
let db: Database;
let ledger: Ledger;
/** The ledger of a second process: it has connections of its own. */
let otherLedger: Ledger;

beforeAll(async () => {
  scratch = await createTestDatabase();
  db = await scratch.open();
  ledger = openLedger(db);
  otherLedger = openLedger(await scratch.open());
});
afterAll(() => scratch.drop());

const kinds = (verdicts: CreateVerdict[]) => verdicts.map(({ kind }) => kind);
const created = { kind: 'created', createdAt: expect.any(Number) };

describe('creating tasks', () => {
  it('writes no row if the credits do not suffice, and says whether the project or the key lacks them', async () => {
    const book = await openBook(db, { credits: 5 });
    const tight = { ...book, keyId: await addKey(db, book.projectId, { budget: 3 }) };
    const [poor, overBudget] = [newTask(book, 6, idempotently('poor')), newTask(tight, 4, idempotently('tight'))];
    expect(await Promise.all([ledger.createTask(poor), ledger.createTask(overBudget)])).toEqual([
      { kind: 'refused', code: 'insufficient_credits' },
      { kind: 'refused', code: 'key_budget_exceeded' },
    ]);
    expect(await rowsOf(db, 'select id from task where project_id = $1', [book.projectId])).toEqual([]);
    expect(await rowsOf(db, 'select key from idempotency where project_id = $1', [book.projectId])).toEqual([]);
  });

  it('returns the same answer to each call for the same task', async () => {
    const book = await openBook(db, { credits: 10 });
    const task = newTask(book, 5, idempotently('repeated'));
    const answers = [];
    for (let call = 0; call < 3; call++) answers.push(await ledger.createTask(task));
    const tasks = await rowsOf<{ id: string; createdAt: Date }>(
      db,
      'select id, created_at from task where project_id = $1',
      [book.projectId],
    );
    expect(tasks).toMatchObject([{ id: task.taskId }]);
    const createdAt = Math.floor(tasks[0]!.createdAt.getTime() / 1000);
    expect(answers).toEqual(Array.from({ length: 3 }, () => ({ kind: 'created', createdAt })));
  });

  it('writes one task for equal idempotency keys in one batch, and refuses another body', async () => {
    const book = await openBook(db, { credits: 100 });
    const [first, second, third] = [1, 2, 3].map(() => newTask(book, 5, idempotently('key-1')));
    const other = newTask(book, 5, idempotently('key-1', 'other body'));
    const verdicts = await Promise.all([first, second, other, third].map((task) => ledger.createTask(task!)));
    expect(verdicts).toEqual([
      created,
      { kind: 'replay', taskId: first!.taskId },
      { kind: 'reused' },
      { kind: 'replay', taskId: first!.taskId },
    ]);
  });

  it('writes one task for equal idempotency keys in concurrent batches of two processes', async () => {
    const book = await openBook(db, { credits: 1_000 });
    for (let round = 0; round < 10; round++) {
      const names = Array.from({ length: 4 }, (_, index) => `race-${round}-${index}`);
      const forward = names.map((name) => newTask(book, 1, idempotently(name)));
      const backward = [...names].reverse().map((name) => newTask(book, 1, idempotently(name)));
      const [left, right] = await Promise.all([
        Promise.all(forward.map((task) => ledger.createTask(task))),
        Promise.all(backward.map((task) => otherLedger.createTask(task))),
      ]);
      expect(kinds([...left, ...right]).sort()).toEqual(
        [...names.map(() => 'created'), ...names.map(() => 'replay')].sort(),
      );
      const written = await rowsOf<{ key: string; taskId: string }>(
        db,
        'select i.key, i.task_id from idempotency i join task t on t.id = i.task_id where i.key = any ($1)',
        [names],
      );
      expect(written).toHaveLength(names.length);
      const standing = new Map(written.map(({ key, taskId }) => [key, taskId]));
      for (const [index, verdict] of left.entries()) {
        if (verdict.kind === 'replay') expect(verdict.taskId).toBe(standing.get(names[index]!));
      }
    }
  });

  it('gives an idempotency key to the second member of a batch if the first one with that key is refused', async () => {
    const book = await openBook(db, { credits: 5 });
    const [tooDear, affordable] = [newTask(book, 6, idempotently('shared')), newTask(book, 5, idempotently('shared'))];
    expect(await Promise.all([ledger.createTask(tooDear), ledger.createTask(affordable)])).toEqual([
      { kind: 'refused', code: 'insufficient_credits' },
      created,
    ]);
  });

  it('accepts an expired idempotency key again', async () => {
    const book = await openBook(db, { credits: 10 });
    const [first, again] = [newTask(book, 1, idempotently('old')), newTask(book, 1, idempotently('old', 'other body'))];
    await ledger.createTask(first);
    await run(db, `update idempotency set expires_at = clock_timestamp() - interval '1 second' where task_id = $1`, [
      first.taskId,
    ]);
    expect(await ledger.createTask(again)).toEqual(created);
  });

  it('writes the other members of a batch if one of them cannot be written', async () => {
    const book = await openBook(db, { credits: 10 });
    const unwritableTask = newTask({ projectId: 'prj_unknown', keyId: book.keyId }, 1, idempotently('stranger'));
    const verdicts = await Promise.allSettled([
      ledger.createTask(newTask(book, 1)),
      ledger.createTask(unwritableTask),
      ledger.createTask(newTask(book, 2, idempotently('neighbour'))),
    ]);
    expect(verdicts.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await rowsOf(db, 'select id from task where project_id = $1', [book.projectId])).toHaveLength(2);
  });
});

describe('reserving credits', () => {
  it('admits 8 and 2 of a batch of 8, 5 and 2 credits with a balance of 10, because a refused member consumes nothing', async () => {
    const book = await openBook(db, { credits: 10 });
    const tasks = [8, 5, 2].map((credits) => newTask(book, credits));
    await Promise.all(tasks.map((task) => ledger.createTask(task)));
    const admissions = await Promise.all(tasks.map(({ taskId }) => ledger.reserveTask(taskId, true)));
    expect(admissions.map(({ admitted, refusalCode }) => refusalCode ?? admitted)).toEqual([
      true,
      'insufficient_credits',
      true,
    ]);
    expect(await accountOf(db, book.projectId)).toEqual({ balance: 0, reserved: 10, inFlight: 2 });
  });

  it('applies the budget of a key in the same way', async () => {
    const book = await openBook(db, { credits: 1_000, budget: 10 });
    const tasks = [8, 5, 2].map((credits) => newTask(book, credits));
    await Promise.all(tasks.map((task) => ledger.createTask(task)));
    const admissions = await Promise.all(tasks.map(({ taskId }) => ledger.reserveTask(taskId, true)));
    expect(admissions.map(({ admitted, refusalCode }) => refusalCode ?? admitted)).toEqual([
      true,
      'key_budget_exceeded',
      true,
    ]);
    expect(await accountOf(db, book.projectId)).toEqual({ balance: 990, reserved: 10, inFlight: 2 });
  });

  it('counts settled credits against the budget of a key, and no refunded ones', async () => {
    const book = await openBook(db, { credits: 1_000, budget: 10 });
    const [kept, returned] = [await admitted(ledger, newTask(book, 6)), await admitted(ledger, newTask(book, 4))];
    await attemptEndedOk(db, kept.taskId);
    await ledger.finishTask(taskEnd(kept.taskId, 'succeeded'));
    await ledger.finishTask(taskEnd(returned.taskId, 'failed'));
    expect(await ledger.createTask(newTask(book, 5))).toEqual({ kind: 'refused', code: 'key_budget_exceeded' });
    await admitted(ledger, newTask(book, 4));
  });

  it('writes each account and each key once for a batch, also when the tasks end', async () => {
    const books = [await openBook(db, { credits: 10 }), await openBook(db, { credits: 10 })];
    const keys = [...books, { ...books[0]!, keyId: await addKey(db, books[0]!.projectId) }];
    const tasks = keys.flatMap((book) => [newTask(book, 2), newTask(book, 1)]);
    await Promise.all(tasks.map((task) => ledger.createTask(task)));
    const ids = tasks.map(({ taskId }) => taskId);
    const ends = JSON.stringify(ids.map((id) => ({ task_id: id, status: 'failed', retention_seconds: 60 })));
    const counted = await db.transaction('begin', async (query) => {
      // Counts the writes of this transaction, and those of the session that PostgreSQL has not added to its statistics yet.
      const count = async () => {
        const [row] = await query<{ accounts: number; keys: number }>(
          '',
          `select sum(n_tup_upd) filter (where relname = 'credit_account')::int as accounts,
             sum(n_tup_upd) filter (where relname = 'api_key')::int as keys from pg_stat_xact_user_tables`,
        );
        return { accounts: row?.accounts ?? 0, keys: row?.keys ?? 0 };
      };
      const counts = [await count()];
      await query('', 'select * from reserve_tasks($1, false, 100)', [ids]);
      counts.push(await count());
      await query('', 'select * from finish_tasks($1)', [ends]);
      return [...counts, await count()];
    });
    const [start, held, ended] = counted.map(({ accounts, keys: written }) => [accounts, written] as const);
    expect(held).toEqual([start![0] + 2, start![1] + 3]);
    expect(ended).toEqual([start![0] + 4, start![1] + 6]);
    for (const { projectId } of books)
      expect(await accountOf(db, projectId)).toEqual({ balance: 10, reserved: 0, inFlight: 0 });
    expect(await breachesIn(db)).toEqual([]);
  });

  it('admits exactly 7 of 40 tasks with credits for 7, with two processes reserving at the same time', async () => {
    const book = await openBook(db, { credits: 35 });
    const tasks = Array.from({ length: 40 }, () => newTask(book, 5));
    await Promise.all(tasks.map((task, index) => (index % 2 ? ledger : otherLedger).createTask(task)));
    const admissions = await Promise.all(
      tasks.map(({ taskId }, index) => (index % 3 ? ledger : otherLedger).reserveTask(taskId, index % 2 === 0)),
    );
    expect(admissions.filter(({ admitted }) => admitted)).toHaveLength(7);
    expect(admissions.filter(({ refusalCode }) => refusalCode === 'insufficient_credits')).toHaveLength(33);
    expect(await accountOf(db, book.projectId)).toEqual({ balance: 0, reserved: 35, inFlight: 7 });
  });

  it('returns the first verdict at every later call, even after the balance has changed', async () => {
    const book = await openBook(db, { credits: 5 });
    const [taken, refused] = [newTask(book, 5), newTask(book, 5)];
    await Promise.all([taken, refused].map((task) => ledger.createTask(task)));
    await Promise.all([taken, refused].map(({ taskId }) => ledger.reserveTask(taskId, false)));
    await addCredits({ db }, { projectId: book.projectId, amount: 100, reference: 'later', actor: 'test' });
    expect(await otherLedger.reserveTask(refused.taskId, true)).toMatchObject({
      admitted: false,
      refusalCode: 'insufficient_credits',
    });
    await ledger.finishTask(taskEnd(taken.taskId, 'failed'));
    await run(db, 'update api_key set revoked_at = clock_timestamp() where id = $1', [book.keyId]);
    expect(await otherLedger.reserveTask(taken.taskId, true)).toMatchObject({ admitted: true, status: 'failed' });
    expect(await entriesOf(db, taken.taskId)).toEqual({ refund: 1 });
  });

  it('holds the credits once for a task that is in one batch twice', async () => {
    const book = await openBook(db, { credits: 10 });
    const task = newTask(book, 5);
    await ledger.createTask(task);
    const [first, second] = await Promise.all([
      ledger.reserveTask(task.taskId, false),
      ledger.reserveTask(task.taskId, true),
    ]);
    expect([first.admitted, second.admitted]).toEqual([true, true]);
    expect(await entriesOf(db, task.taskId)).toEqual({ hold: 1 });
  });

  it('frees the idempotency key of a rejected task', async () => {
    const book = await openBook(db, { credits: 5 });
    const [taken, refused] = [newTask(book, 5), newTask(book, 5, idempotently('freed'))];
    expect(kinds(await Promise.all([taken, refused].map((task) => ledger.createTask(task))))).toEqual([
      'created',
      'created',
    ]);
    await Promise.all([taken, refused].map(({ taskId }) => ledger.reserveTask(taskId, false)));
    expect(await rowsOf(db, `select key from idempotency where key = 'freed'`)).toEqual([]);
    await addCredits({ db }, { projectId: book.projectId, amount: 5, reference: 'later', actor: 'test' });
    await admitted(ledger, newTask(book, 5, idempotently('freed', 'other body')));
  });

  it('returns the reason of the rejection, and uses no idempotency key, if a rejected task is created again', async () => {
    const book = await openBook(db, { credits: 5 });
    const [short, swept] = [newTask(book, 5, idempotently('short')), newTask(book, 5, idempotently('swept'))];
    for (const task of [newTask(book, 5), short, swept]) await ledger.createTask(task);
    const [first] = await rowsOf<{ id: string }>(
      db,
      'select id from task where project_id = $1 and id <> $2 and id <> $3',
      [book.projectId, short.taskId, swept.taskId],
    );
    await ledger.reserveTask(first?.id ?? '', false);
    await ledger.reserveTask(short.taskId, false);
    await ledger.finishTask(taskEnd(swept.taskId, 'failed'));
    expect(await ledger.createTask(short)).toEqual({ kind: 'refused', code: 'insufficient_credits' });
    expect(await ledger.createTask(swept)).toEqual({ kind: 'refused', code: 'service_unavailable' });
    expect(await rowsOf(db, `select key from idempotency where key in ('short', 'swept')`)).toEqual([]);
  });

  it.each([
    ['revoked', 'update api_key set revoked_at = clock_timestamp() where project_id = $1'],
    ['expired', `update api_key set expires_at = clock_timestamp() - interval '1 second' where project_id = $1`],
    ['of a disabled project', `update project set status = 'disabled' where id = $1`],
  ])('refuses a task whose key is %s when the credits are reserved', async (_how, change) => {
    const book = await openBook(db, { credits: 10 });
    const task = newTask(book, 5);
    await ledger.createTask(task);
    await run(db, change, [book.projectId]);
    expect(await ledger.reserveTask(task.taskId, true)).toMatchObject({
      admitted: false,
      refusalCode: 'invalid_api_key',
    });
    expect(await accountOf(db, book.projectId)).toEqual({ balance: 10, reserved: 0, inFlight: 0 });
  });

  it('enforces the in-flight limits of a key and a project, and frees the place of every ended task', async () => {
    const narrow = openLedger(db, { inFlightPerProjectMax: 3 });
    const book = await openBook(db, { credits: 100, inFlightMax: 2 });
    const other = { ...book, keyId: await addKey(db, book.projectId) };
    const tasks = [newTask(book, 1), newTask(book, 1), newTask(book, 1), newTask(other, 1), newTask(other, 1)];
    await Promise.all(tasks.map((task) => narrow.createTask(task)));
    const admissions = await Promise.all(tasks.map(({ taskId }) => narrow.reserveTask(taskId, true)));
    const full = 'concurrency_limit_exceeded';
    expect(admissions.map(({ admitted, refusalCode }) => refusalCode ?? admitted)).toEqual([
      true,
      true,
      full,
      true,
      full,
    ]);
    await attemptEndedOk(db, tasks[0]!.taskId);
    await narrow.finishTask(taskEnd(tasks[0]!.taskId, 'succeeded'));
    await narrow.finishTask(taskEnd(tasks[1]!.taskId, 'canceled'));
    await admitted(narrow, newTask(book, 1));
    await admitted(narrow, newTask(other, 1));
  });

  it('admits no task after its deadline', async () => {
    const book = await openBook(db, { credits: 10 });
    const task = newTask(book, 5, { deadlineSeconds: 0 });
    await ledger.createTask(task);
    expect(await ledger.reserveTask(task.taskId, true)).toMatchObject({
      admitted: false,
      refusalCode: 'service_unavailable',
    });
  });

  it('returns task_not_found for a task that does not exist', async () => {
    expect(await ledger.reserveTask('task_never', true)).toMatchObject({
      admitted: false,
      refusalCode: 'task_not_found',
    });
  });
});

describe('finishing a task', () => {
  it('moves credits once for eight concurrent calls, and returns the same end to each', async () => {
    const ledgers = [ledger, otherLedger, openLedger(await scratch.open()), openLedger(await scratch.open())];
    const book = await openBook(db, { credits: 1_000 });
    for (let round = 0; round < 12; round++) {
      const { taskId } = await admitted(ledger, newTask(book, 5, { callbackUrl: 'https://example.com/hook' }));
      await attemptEndedOk(db, taskId);
      const statuses = [
        'succeeded',
        'failed',
        'succeeded',
        'canceled',
        'failed',
        'succeeded',
        'canceled',
        'failed',
      ] as const;
      const ends = await Promise.all(
        statuses.map((status, index) => ledgers[index % 4]!.finishTask(taskEnd(taskId, status))),
      );
      expect(ends.filter(({ finished }) => finished)).toHaveLength(1);
      const standing = ends.find(({ finished }) => finished)!;
      for (const end of ends) expect({ ...end, finished: true }).toEqual(standing);
      expect(await entriesOf(db, taskId)).toEqual(standing.status === 'succeeded' ? { settle: 1 } : { refund: 1 });
      expect(await rowsOf(db, 'select id from delivery where task_id = $1', [taskId])).toHaveLength(1);
    }
    expect(await breachesIn(db)).toEqual([]);
  });

  it('refuses a success without an attempt that ended `ok`, and changes nothing', async () => {
    const book = await openBook(db, { credits: 10 });
    const { taskId } = await admitted(ledger, newTask(book, 5));
    const state = () =>
      rowsOf(
        db,
        'select to_jsonb(t) as t, to_jsonb(r) as r from task t join reservation r using (id) where t.id = $1',
        [taskId],
      );
    const before = await state();
    await expect(ledger.finishTask(taskEnd(taskId, 'succeeded'))).rejects.toThrow();
    expect(await state()).toEqual(before);
    expect(await accountOf(db, book.projectId)).toEqual({ balance: 5, reserved: 5, inFlight: 1 });
    expect(await entriesOf(db, taskId)).toEqual({ hold: 1 });
  });

  it('writes the other ends of a batch if one success has no result', async () => {
    const book = await openBook(db, { credits: 10 });
    const tasks = [await admitted(ledger, newTask(book, 5)), await admitted(ledger, newTask(book, 5))];
    const [bare, failed] = await Promise.allSettled([
      ledger.finishTask(taskEnd(tasks[0]!.taskId, 'succeeded')),
      ledger.finishTask(taskEnd(tasks[1]!.taskId, 'failed')),
    ]);
    expect(bare).toMatchObject({ status: 'rejected' });
    expect(failed).toMatchObject({ status: 'fulfilled', value: { finished: true, status: 'failed' } });
  });

  it('never changes the status, the result or the credits of an ended task', async () => {
    const book = await openBook(db, { credits: 10 });
    const { taskId } = await admitted(ledger, newTask(book, 5));
    await ledger.finishTask(taskEnd(taskId, 'failed'));
    await attemptEndedOk(db, taskId);
    const state = () => rowsOf(db, 'select to_jsonb(t) as t from task t where t.id = $1', [taskId]);
    const before = await state();
    for (const status of ['succeeded', 'canceled', 'failed'] as const) {
      expect(await ledger.finishTask(taskEnd(taskId, status))).toMatchObject({ finished: false, status: 'failed' });
    }
    expect(await state()).toEqual(before);
    expect(await accountOf(db, book.projectId)).toEqual({ balance: 10, reserved: 0, inFlight: 0 });
  });

  it('ends a task without a verdict as rejected, moves no credits, and frees its idempotency key', async () => {
    const book = await openBook(db, { credits: 10 });
    const task = newTask(book, 5, idempotently('undecided'));
    await ledger.createTask(task);
    expect(await ledger.finishTask(taskEnd(task.taskId, 'failed'))).toMatchObject({ finished: true, status: 'failed' });
    expect(await ledger.reserveTask(task.taskId, true)).toMatchObject({ admitted: false });
    expect(await accountOf(db, book.projectId)).toEqual({ balance: 10, reserved: 0, inFlight: 0 });
    expect(await rowsOf(db, `select key from idempotency where key = 'undecided'`)).toEqual([]);
  });

  it('rejects the call for a task that does not exist, but no other call of its batch', async () => {
    const book = await openBook(db, { credits: 10 });
    const { taskId } = await admitted(ledger, newTask(book, 5));
    const [unknown, existing] = await Promise.allSettled([
      ledger.finishTask(taskEnd('task_unknown', 'failed')),
      ledger.finishTask(taskEnd(taskId, 'failed')),
    ]);
    expect([unknown.status, existing.status]).toEqual(['rejected', 'fulfilled']);
  });
});

describe('ledger entries', () => {
  it.each([
    ['changed', 'update ledger_entry set credits = credits + 1 where project_id = $1'],
    ['deleted', 'delete from ledger_entry where project_id = $1'],
  ])('cannot be %s', async (_how, change) => {
    const book = await openBook(db, { credits: 10 });
    await expect(run(db, change, [book.projectId])).rejects.toThrow('only ever added');
  });

  it('cannot be truncated, alone or together with other tables', async () => {
    await openBook(db, { credits: 10 });
    for (const change of ['truncate ledger_entry', 'truncate project, ledger_entry cascade'])
      await expect(run(db, change)).rejects.toThrow('only ever added');
  });

  it('contain one top-up per reference, even after concurrent calls of two processes', async () => {
    const { projectId } = await openBook(db);
    const again = await scratch.open();
    const topUp = { projectId, amount: 50, reference: 'invoice-1', actor: 'test' };
    const added = await Promise.all([db, again, db, again, db, again].map((door) => addCredits({ db: door }, topUp)));
    expect(added.filter((one) => one.added)).toHaveLength(1);
    expect(await accountOf(db, projectId)).toEqual({ balance: 50, reserved: 0, inFlight: 0 });
    await expect(addCredits({ db }, { ...topUp, amount: 51 })).rejects.toThrow('invoice-1');
    await addCredits({ db }, { ...topUp, reference: 'invoice-2' });
    expect((await accountOf(db, projectId)).balance).toBe(100);
  });
});

describe('concurrent batches in opposite orders', () => {
  it('succeed in spite of deadlocks, and the ledger stays consistent', async () => {
    const [left, right] = [await openBook(db, { credits: 10_000 }), await openBook(db, { credits: 10_000 })];
    for (let round = 0; round < 15; round++) {
      const tasks = Array.from({ length: 10 }, (_, index) =>
        newTask(index % 2 ? left : right, 1, idempotently(newId('idem'))),
      );
      await Promise.all(tasks.map((task) => ledger.createTask(task)));
      const backward = [...tasks].reverse();
      const admissions = await Promise.all([
        ...tasks.map(({ taskId }) => ledger.reserveTask(taskId, true)),
        ...backward.map(({ taskId }) => otherLedger.reserveTask(taskId, false)),
      ]);
      expect(admissions.every(({ admitted }) => admitted)).toBe(true);
      const ends = await Promise.all([
        ...tasks.map(({ taskId }) => ledger.finishTask(taskEnd(taskId, 'failed'))),
        ...backward.map(({ taskId }) => otherLedger.finishTask(taskEnd(taskId, 'canceled'))),
      ]);
      expect(ends.filter(({ finished }) => finished)).toHaveLength(tasks.length);
    }
    expect(await breachesIn(db)).toEqual([]);
  });
});
