import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { adjustCredits } from '../../src/services/ledger/adjust-credits.ts';
import type { ChatLedger } from '../../src/db/chat/chat-ledger.ts';
import type { Database } from '../../src/db/database.ts';
import { writeCheckpoint } from '../../src/db/ledger/checkpoints.ts';
import type { Ledger } from '../../src/db/ledger/ledger.ts';
import { verifyLedger } from '../../src/db/ledger/verify-ledger.ts';
import { awayFromMidnight } from '../support/away-from-midnight.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import {
  admitted,
  attemptEndedOk,
  breachesIn,
  newTask,
  openBook,
  openLedger,
  passDays,
  rowsOf,
  run,
  taskEnd,
  type Book,
} from './books.ts';
import { anAdmission, openChatLedger, settledEnd } from './chat-books.ts';

await awayFromMidnight();

let scratch: TestDatabase;
let db: Database;
let ledgers: Ledger[];
let chatLedgers: ChatLedger[];
beforeAll(async () => {
  scratch = await createTestDatabase();
  db = await scratch.open();
  const second = await scratch.open();
  ledgers = [openLedger(db), openLedger(second)];
  chatLedgers = [openChatLedger(db), openChatLedger(second)];
});
afterAll(() => scratch?.drop());
afterEach(async () => expect(await breachesIn(db)).toEqual([]));

async function chat(book: Book, credits: number, process = 0): Promise<string> {
  const { verdict } = await chatLedgers[process]!.admit(anAdmission(book, { credits }));
  return verdict.kind === 'refused' ? verdict.code : verdict.kind;
}

async function task(book: Book, credits: number, process = 0): Promise<string> {
  const ledger = ledgers[process]!;
  const request = newTask(book, credits);
  const verdict = await ledger.createTask(request);
  if (verdict.kind === 'refused') return verdict.code;
  const admission = await ledger.reserveTask(request.taskId, true);
  return admission.admitted ? 'admitted' : (admission.refusalCode ?? 'nothing');
}

const countersOf = async ({ keyId }: Book): Promise<unknown> => {
  const [row] = await rowsOf(
    db,
    'select spent, reserved, day_spent, day_reserved, month_spent, month_reserved from api_key where id = $1',
    [keyId],
  );
  return row;
};
/** Whether a day that is `days` ago was in this month. */
const isThisMonth = (days: number): boolean => {
  const now = new Date();
  return new Date(now.getTime() - days * 86_400_000).getUTCMonth() === now.getUTCMonth();
};

describe.each([
  ['daily', { budgetDaily: 25 }],
  ['monthly', { budgetMonthly: 25 }],
] as const)('the %s budget of a key', (_period, budget) => {
  it('admits exactly what fits, whatever asks at the same time', async () => {
    const book = await openBook(db, { credits: 10_000, ...budget });
    const admissions = Array.from({ length: 60 }, (_, at) => (at % 3 === 0 ? task : chat)(book, 4, at % 2));
    const verdicts = await Promise.all(admissions);
    expect(verdicts.filter((verdict) => verdict === 'admitted')).toHaveLength(6);
    expect(new Set(verdicts)).toEqual(new Set(['admitted', 'key_budget_exceeded']));
    expect(await countersOf(book)).toMatchObject({ reserved: 24, dayReserved: 24, monthReserved: 24 });
  });

  it('is free again after a refund and after what was not charged', async () => {
    const book = await openBook(db, { credits: 100, ...budget });
    const failing = await admitted(ledgers[0]!, newTask(book, 20));
    expect(await chat(book, 6)).toBe('key_budget_exceeded');
    await ledgers[0]!.finishTask(taskEnd(failing.taskId, 'failed'));
    const cheap = anAdmission(book, { credits: 25 });
    expect((await chatLedgers[0]!.admit(cheap)).verdict.kind).toBe('admitted');
    expect(await task(book, 1)).toBe('key_budget_exceeded');
    await chatLedgers[0]!.end(settledEnd(cheap, 5));
    expect(await chat(book, 21)).toBe('key_budget_exceeded');
    expect(await task(book, 20)).toBe('admitted');
  });

  it('is free again in the next period, while the budget of the life of the key is not', async () => {
    const book = await openBook(db, { credits: 100, budget: 60, ...budget });
    expect(await chat(book, 25)).toBe('admitted');
    expect(await chat(book, 1)).toBe('key_budget_exceeded');
    await passDays(db, 31);
    expect(await task(book, 25)).toBe('admitted');
    expect(await countersOf(book)).toMatchObject({ reserved: 50, dayReserved: 25, monthReserved: 25 });
    await passDays(db, 31);
    expect(await chat(book, 11)).toBe('key_budget_exceeded');
    expect(await chat(book, 10)).toBe('admitted');
  });
});

describe('the counters of a key', () => {
  it('give credits back to the day of the hold: what a hold of yesterday frees is not free today', async () => {
    const book = await openBook(db, { credits: 100, budgetDaily: 20 });
    const failing = await admitted(ledgers[0]!, newTask(book, 15));
    const settling = anAdmission(book, { credits: 5 });
    await chatLedgers[0]!.admit(settling);
    await passDays(db, 1);
    expect(await chat(book, 20)).toBe('admitted');
    await ledgers[0]!.finishTask(taskEnd(failing.taskId, 'failed'));
    await chatLedgers[0]!.end(settledEnd(settling, 3));
    expect(await chat(book, 1)).toBe('key_budget_exceeded');
    const ofYesterday = isThisMonth(1) ? 3 : 0;
    expect(await countersOf(book)).toEqual({
      spent: 3,
      reserved: 20,
      daySpent: 0,
      dayReserved: 20,
      monthSpent: ofYesterday,
      monthReserved: 20,
    });
  });

  it('count an adjustment in the period of the hold', async () => {
    const book = await openBook(db, { credits: 100, budgetDaily: 20 });
    const charged = async (credits: number): Promise<string> => {
      const { taskId } = await admitted(ledgers[0]!, newTask(book, credits));
      await attemptEndedOk(db, taskId);
      await ledgers[0]!.finishTask(taskEnd(taskId, 'succeeded'));
      return taskId;
    };
    const adjust = (requestId: string, amount: number) =>
      adjustCredits({ db }, { requestId, amount, reason: 'late', actor: 'test' });
    const early = await charged(12);
    await passDays(db, 1);
    const late = await charged(20);
    await adjust(early, 7);
    expect(await chat(book, 1)).toBe('key_budget_exceeded');
    await adjust(late, 8);
    expect(await countersOf(book)).toMatchObject({ spent: 17, daySpent: 12, monthSpent: isThisMonth(1) ? 17 : 12 });
    expect(await chat(book, 9)).toBe('key_budget_exceeded');
    expect(await chat(book, 8)).toBe('admitted');
  });

  it('stay right if the clock is set back over midnight', async () => {
    const book = await openBook(db, { credits: 100, budgetDaily: 20 });
    const held = anAdmission(book, { credits: 5 });
    await chatLedgers[0]!.admit(held);
    // As if the clock had shown tomorrow until now.
    await passDays(db, -1);
    const after = anAdmission(book, { credits: 6 });
    expect((await chatLedgers[0]!.admit(after)).verdict.kind).toBe('admitted');
    const { taskId } = await admitted(ledgers[0]!, newTask(book, 7));
    expect(await chat(book, 3)).toBe('key_budget_exceeded');
    await chatLedgers[0]!.end(settledEnd(held, 1));
    await chatLedgers[0]!.end(settledEnd(after, 2));
    await ledgers[0]!.finishTask(taskEnd(taskId, 'canceled'));
    expect(await countersOf(book)).toMatchObject({ spent: 3, daySpent: 3, dayReserved: 0 });
  });

  it('are verified since a checkpoint that is written while the clock is set back over midnight', async () => {
    const book = await openBook(db, { credits: 100 });
    await writeCheckpoint(db, 0);
    expect(await chat(book, 5)).toBe('admitted');
    await passDays(db, -1);
    const after = anAdmission(book, { credits: 6 });
    await chatLedgers[0]!.admit(after);
    await chatLedgers[0]!.end(settledEnd(after, 2));
    await writeCheckpoint(db, 0);
    expect(await verifyLedger(db, 60, { full: false })).toMatchObject({ ok: true });
  });

  it('are right for two keys of one batch, of which one was last used on an earlier day', async () => {
    const book = await openBook(db, { credits: 100 });
    const old = await admitted(ledgers[0]!, newTask(book, 10));
    await passDays(db, 1);
    const other = await openBook(db, { credits: 100 });
    const fresh = await admitted(ledgers[0]!, newTask(other, 4));
    for (const { taskId } of [old, fresh]) await attemptEndedOk(db, taskId);
    await Promise.all([old, fresh].map(({ taskId }) => ledgers[0]!.finishTask(taskEnd(taskId, 'succeeded'))));
    expect(await countersOf(other)).toMatchObject({ spent: 4, daySpent: 4, monthSpent: 4 });
    expect(await countersOf(book)).toMatchObject({ spent: 10, reserved: 0, dayReserved: 0, monthReserved: 0 });
  });

  it('apply to a budget that is set later in the day', async () => {
    const book = await openBook(db, { credits: 100 });
    expect(await chat(book, 10)).toBe('admitted');
    await run(db, 'update api_key set budget_daily = 15 where id = $1', [book.keyId]);
    expect(await task(book, 6)).toBe('key_budget_exceeded');
    expect(await task(book, 5)).toBe('admitted');
  });
});
