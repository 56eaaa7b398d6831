import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { deductCredits } from '../../../src/services/ledger/deduct-credits.ts';
import { updateProjectSettings } from '../../../src/db/projects/project-settings.ts';
import { addCredits } from '../../../src/services/ledger/add-credits.ts';
import type { ChatLedger } from '../../../src/db/chat/chat-ledger.ts';
import type { Database } from '../../../src/db/database.ts';
import { findFunds } from '../../../src/db/ledger/funds.ts';
import type { Ledger } from '../../../src/db/ledger/ledger.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import {
  accountOf,
  admitted,
  attemptEndedOk,
  breachesIn,
  newTask,
  openBook,
  openLedger,
  rowsOf,
  taskEnd,
  type Book,
} from '../books.ts';
import { anAdmission, openChatLedger, settledEnd } from '../chat-books.ts';

let scratch: TestDatabase;
let db: Database;
let ledgers: Ledger[];
let chats: ChatLedger[];
/** The databases of two processes. */
let doors: Database[];

beforeAll(async () => {
  scratch = await createTestDatabase();
  db = await scratch.open();
  doors = [db, await scratch.open()];
  ledgers = doors.map((door) => openLedger(door));
  chats = doors.map((door) => openChatLedger(door));
});
afterAll(() => scratch.drop());

const actor = 'test';
const deduct = (projectId: string, amount: number, reference = 'chargeback', door = db) =>
  deductCredits({ db: door }, { projectId, amount, reference, reason: 'the bank took it back', actor });
const setOverdraft = (projectId: string, overdraft: number) =>
  updateProjectSettings(db, { projectId, changes: { overdraft }, actor });

/** The verdict on a chat and on a task that each hold one credit. */
async function verdictsOn(book: Book): Promise<string[]> {
  const chat = await chats[0]!.admit(anAdmission(book));
  const task = newTask(book, 1);
  const created = await ledgers[0]!.createTask(task);
  const admission = created.kind === 'created' ? await ledgers[0]!.reserveTask(task.taskId, true) : null;
  const ofTask = created.kind === 'refused' ? created.code : (admission?.refusalCode ?? 'admitted');
  return [chat.verdict.kind === 'refused' ? chat.verdict.code : chat.verdict.kind, ofTask];
}

describe('a deduction', () => {
  it('takes credits once per reference, even after concurrent calls of two processes, and refuses another amount', async () => {
    const { projectId } = await openBook(db, { credits: 100 });
    const all = await Promise.all([0, 1, 0, 1, 0, 1].map((door) => deduct(projectId, 30, 'refund 1', doors[door])));
    expect(all.filter(({ deducted }) => deducted)).toHaveLength(1);
    expect(all.map(({ balance }) => balance)).toEqual(Array(6).fill(70));
    await expect(deduct(projectId, 31, 'refund 1')).rejects.toThrow('another amount. Nothing was deducted.');
    expect(await deduct(projectId, 20, 'refund 2')).toMatchObject({ deducted: true, balance: 50 });
    expect(
      await rowsOf(
        db,
        `select kind, credits, balance_after, reference, reason from ledger_entry where project_id = $1 and kind = 'deduct' order by id`,
        [projectId],
      ),
    ).toEqual([
      { kind: 'deduct', credits: -30, balanceAfter: 70, reference: 'refund 1', reason: 'the bank took it back' },
      { kind: 'deduct', credits: -20, balanceAfter: 50, reference: 'refund 2', reason: 'the bank took it back' },
    ]);
    expect(await breachesIn(db)).toEqual([]);
  });

  it('may take the balance below zero, after which nothing is held until the balance is above zero', async () => {
    const book = await openBook(db, { credits: 10 });
    const running = await admitted(ledgers[0]!, newTask(book, 4));
    await attemptEndedOk(db, running.taskId);
    expect(await deduct(book.projectId, 30)).toMatchObject({ balance: -24, reserved: 4 });
    expect(await verdictsOn(book)).toEqual(['insufficient_credits', 'insufficient_credits']);
    // What was held before is charged all the same.
    await ledgers[0]!.finishTask(taskEnd(running.taskId, 'succeeded'));
    expect(await accountOf(db, book.projectId)).toMatchObject({ balance: -24, reserved: 0 });
    await addCredits({ db }, { projectId: book.projectId, amount: 24, reference: 'again', actor });
    expect(await verdictsOn(book)).toEqual(['insufficient_credits', 'insufficient_credits']);
    await addCredits({ db }, { projectId: book.projectId, amount: 2, reference: 'more', actor });
    expect(await verdictsOn(book)).toEqual(['admitted', 'admitted']);
    expect(await breachesIn(db)).toEqual([]);
  });

  it('is refused below the counts that clients read exactly, and for an unknown project', async () => {
    const { projectId } = await openBook(db);
    expect(await deduct(projectId, Number.MAX_SAFE_INTEGER)).toMatchObject({ balance: -Number.MAX_SAFE_INTEGER });
    await expect(deduct(projectId, 1, 'one more')).rejects.toThrow('Nothing was deducted.');
    await expect(deduct('prj_nobody', 1)).rejects.toThrow('no project');
    expect(await breachesIn(db)).toEqual([]);
  });
});

describe('an overdraft', () => {
  it('leaves the funds of the largest balance readable', async () => {
    const book = await openBook(db, { credits: Number.MAX_SAFE_INTEGER });
    await setOverdraft(book.projectId, 5_000_000);
    expect(await findFunds(db, book)).toEqual({ balance: Number.MAX_SAFE_INTEGER, budgetLeft: null });
  });

  it('is used to the credit by parallel chats and tasks of two processes', async () => {
    const book = await openBook(db, { credits: 7 });
    await setOverdraft(book.projectId, 50);
    const spenders = Array.from({ length: 100 }, async (_, index) => {
      const process = Math.floor(index / 2) % 2;
      if (index % 2 === 0) {
        const chat = anAdmission(book);
        const { verdict } = await chats[process]!.admit(chat);
        if (verdict.kind === 'admitted') await chats[process]!.end(settledEnd(chat, 1));
        return verdict.kind === 'admitted';
      }
      const task = newTask(book, 1);
      if ((await ledgers[process]!.createTask(task)).kind !== 'created') return false;
      const { admitted: isAdmitted } = await ledgers[process]!.reserveTask(task.taskId, true);
      if (!isAdmitted) return false;
      await attemptEndedOk(db, task.taskId);
      await ledgers[process]!.finishTask(taskEnd(task.taskId, 'succeeded'));
      return true;
    });
    const spent = (await Promise.all(spenders)).filter(Boolean);
    expect(spent).toHaveLength(57);
    expect(await accountOf(db, book.projectId)).toEqual({ balance: -50, reserved: 0, inFlight: 0 });
    expect(await breachesIn(db)).toEqual([]);
  });

  it('that becomes smaller takes nothing back, and lets nothing be held until the balance is above it', async () => {
    const book = await openBook(db);
    await setOverdraft(book.projectId, 10);
    await chats[0]!.admit(anAdmission(book, { credits: 10 }));
    await setOverdraft(book.projectId, 0);
    expect(await verdictsOn(book)).toEqual(['insufficient_credits', 'insufficient_credits']);
    expect(await breachesIn(db)).toEqual([]);
    await addCredits({ db }, { projectId: book.projectId, amount: 12, reference: 'paid', actor });
    expect(await verdictsOn(book)).toEqual(['admitted', 'admitted']);
  });
});
