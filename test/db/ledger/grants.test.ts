import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { addCredits } from '../../../src/services/ledger/add-credits.ts';
import { adjustCredits } from '../../../src/services/ledger/adjust-credits.ts';
import { deductCredits } from '../../../src/services/ledger/deduct-credits.ts';
import { updateProjectSettings } from '../../../src/db/projects/project-settings.ts';
import { showKey } from '../../../src/services/projects/show-key.ts';
import { endDueGrants } from '../../../src/db/ledger/grants.ts';
import { verifyLedger } from '../../../src/db/ledger/verify-ledger.ts';
import { writeCheckpoint } from '../../../src/db/ledger/checkpoints.ts';
import type { ChatLedger } from '../../../src/db/chat/chat-ledger.ts';
import type { Database } from '../../../src/db/database.ts';
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
  run,
  taskEnd,
  type Book,
} from '../books.ts';
import { anAdmission, openChatLedger, settledEnd } from '../chat-books.ts';

let scratch: TestDatabase;
let db: Database;
let ledger: Ledger;
let chats: ChatLedger;

beforeAll(async () => {
  scratch = await createTestDatabase();
  db = await scratch.open();
  ledger = openLedger(db);
  chats = openChatLedger(db);
});
afterAll(() => scratch.drop());

const actor = 'test';
const inHours = (hours: number): Date => new Date(Date.now() + hours * 3_600_000);

const grant = ({ projectId }: Book, amount: number, hours: number, reference = `for ${hours} hours`) =>
  addCredits({ db }, { projectId, amount, reference, expiresAt: inHours(hours), actor });

/** Lets the end of a grant have come, as if the time had passed. */
async function comesToItsEnd({ projectId }: Book, hours: number): Promise<void> {
  await run(db, `update credit_grant set ends_at = clock_timestamp() where project_id = $1 and reference = $2`, [
    projectId,
    `for ${hours} hours`,
  ]);
  await run(
    db,
    `update credit_account a set grant_due_at = (select min(ends_at) from credit_grant g where g.project_id = a.project_id and g.last_interval is null)
     where project_id = $1`,
    [projectId],
  );
}

/** A chat that holds credits and is charged at its end. */
async function hold(book: Book, credits: number): Promise<(charged: number) => Promise<unknown>> {
  const chat = anAdmission(book, { credits });
  const { verdict } = await chats.admit(chat);
  expect(verdict).toEqual({ kind: 'admitted' });
  return (charged) => chats.end(settledEnd(chat, charged));
}
const spend = async (book: Book, credits: number) => (await hold(book, credits))(credits);

const expiringOf = async ({ keyId }: Book): Promise<number[]> => {
  const { balance } = await showKey({ db }, keyId);
  return balance.expiring.map(({ credits }) => credits);
};

const expiriesOf = ({ projectId }: Book) =>
  rowsOf<{ credits: number; reference: string }>(
    db,
    `select credits, reference from ledger_entry where project_id = $1 and kind = 'expiry' order by id`,
    [projectId],
  );

describe('a grant', () => {
  it('is spent before credits that last, the one that ends first before the others, and what is left leaves at its end', async () => {
    const book = await openBook(db, { credits: 100 });
    await grant(book, 50, 48);
    await grant(book, 30, 24);
    await spend(book, 20);
    expect(await expiringOf(book)).toEqual([10, 50]);
    await spend(book, 25);
    expect(await expiringOf(book)).toEqual([35]);

    await comesToItsEnd(book, 24);
    await comesToItsEnd(book, 48);
    expect(await endDueGrants(db)).toMatchObject({ expired_credits: 35 });
    expect(await expiriesOf(book)).toEqual([{ credits: -35, reference: 'for 48 hours' }]);
    expect(await accountOf(db, book.projectId)).toMatchObject({ balance: 100, reserved: 0 });
    expect(await expiringOf(book)).toEqual([]);
    expect(await endDueGrants(db)).toEqual({ accounts: 0, expired_credits: 0 });
    expect(await breachesIn(db)).toEqual([]);
  });

  it('that ends before an older one is spent first from its beginning on', async () => {
    const book = await openBook(db);
    await grant(book, 30, 48);
    await spend(book, 10);
    await grant(book, 30, 24);
    await spend(book, 25);
    expect(await expiringOf(book)).toEqual([5, 20]);
  });

  it('pays for what was held before its end, and what that gives back later leaves with it', async () => {
    const book = await openBook(db, { credits: 5 });
    await grant(book, 100, 24);
    const [cheap, dear] = [await hold(book, 30), await hold(book, 60)];
    const task = await admitted(ledger, newTask(book, 4));
    await comesToItsEnd(book, 24);
    await endDueGrants(db);
    expect(await expiriesOf(book)).toMatchObject([{ credits: -6 }]);
    await cheap(10);
    await ledger.finishTask(taskEnd(task.taskId, 'failed'));
    expect((await accountOf(db, book.projectId)).balance).toBe(5);
    await dear(60);
    expect(await expiriesOf(book)).toMatchObject([{ credits: -6 }, { credits: -20 }, { credits: -4 }]);
    expect(await accountOf(db, book.projectId)).toEqual({ balance: 5, reserved: 0, inFlight: 0 });
    await endDueGrants(db);
    expect(
      await rowsOf(db, 'select is_closed, spent, expired from credit_grant where project_id = $1', [book.projectId]),
    ).toEqual([{ isClosed: true, spent: 70, expired: 30 }]);
    expect(await breachesIn(db)).toEqual([]);
  });

  it('pays for no chat and no task that begins after its end, even if no job has run', async () => {
    for (const begin of [
      (book: Book) => chats.admit(anAdmission(book, { credits: 5 })).then(({ verdict }) => verdict.kind),
      async (book: Book) => {
        const task = newTask(book, 5);
        await ledger.createTask(task);
        return (await ledger.reserveTask(task.taskId, true)).refusalCode;
      },
    ]) {
      const book = await openBook(db, { credits: 4 });
      await grant(book, 10, 24);
      await comesToItsEnd(book, 24);
      const { balance } = await showKey({ db }, book.keyId);
      expect(balance).toMatchObject({ available: 4, expiring: [] });
      expect(['refused', 'insufficient_credits']).toContain(await begin(book));
      expect(await accountOf(db, book.projectId)).toMatchObject({ balance: 4 });
      expect(await expiriesOf(book)).toMatchObject([{ credits: -10 }]);
    }
    expect(await breachesIn(db)).toEqual([]);
  });

  it('is what a refund goes back to while it lasts, also of a hold that began before a later grant', async () => {
    const book = await openBook(db, { credits: 50 });
    await grant(book, 20, 24);
    const first = await hold(book, 20);
    await grant(book, 20, 48);
    await spend(book, 30);
    expect(await expiringOf(book)).toEqual([]);
    // The grant that ends first pays for the later request after all.
    await first(0);
    expect(await expiringOf(book)).toEqual([10]);
    expect((await accountOf(db, book.projectId)).balance).toBe(60);
    expect(await breachesIn(db)).toEqual([]);
  });

  it('keeps its credits from a deduction while others last, the grant that ends last giving first', async () => {
    const book = await openBook(db, { credits: 10 });
    await grant(book, 20, 24);
    await grant(book, 20, 48);
    const take = (amount: number) =>
      deductCredits({ db }, { projectId: book.projectId, amount, reference: `${amount}`, reason: 'x', actor });
    await take(8);
    expect(await expiringOf(book)).toEqual([20, 20]);
    await take(17);
    expect(await expiringOf(book)).toEqual([20, 5]);
    await take(30);
    expect(await expiringOf(book)).toEqual([]);
    expect((await accountOf(db, book.projectId)).balance).toBe(-5);
    // What is owed is paid first.
    await grant(book, 12, 72);
    expect(await expiringOf(book)).toEqual([7]);
    await comesToItsEnd(book, 72);
    await endDueGrants(db);
    expect((await accountOf(db, book.projectId)).balance).toBe(0);
    expect(await breachesIn(db)).toEqual([]);
  });

  it('does not get back what an operator gives back after a charge: that lasts', async () => {
    const book = await openBook(db);
    await grant(book, 20, 24);
    const chat = anAdmission(book, { credits: 20 });
    await chats.admit(chat);
    await chats.end(settledEnd(chat, 20));
    await adjustCredits({ db }, { requestId: chat.requestId, amount: 15, reason: 'sorry', actor });
    await comesToItsEnd(book, 24);
    await endDueGrants(db);
    expect(await expiriesOf(book)).toEqual([]);
    expect((await accountOf(db, book.projectId)).balance).toBe(15);
    expect(await breachesIn(db)).toEqual([]);
  });

  it('is added once per reference, whatever end a repeated call names, and never with an end in the past', async () => {
    const book = await openBook(db);
    expect(await grant(book, 20, 24, 'gift')).toMatchObject({ added: true, balance: 20 });
    expect(await grant(book, 20, 48, 'gift')).toMatchObject({ added: false, balance: 20 });
    await expect(grant(book, 21, 24, 'gift')).rejects.toThrow('another amount');
    await expect(grant(book, 20, -1, 'late')).rejects.toThrow('must be in the future. Nothing was added.');
    expect(await accountOf(db, book.projectId)).toMatchObject({ balance: 20 });
  });

  it('is verified from a checkpoint on as well', async () => {
    const book = await openBook(db, { credits: 10 });
    await grant(book, 20, 24);
    await spend(book, 5);
    await comesToItsEnd(book, 24);
    await endDueGrants(db);
    await writeCheckpoint(db, 0);
    await deductCredits({ db }, { projectId: book.projectId, amount: 40, reference: 'x', reason: 'x', actor });
    await writeCheckpoint(db, 0);
    expect(await verifyLedger(db, 60, { full: false })).toMatchObject({ ok: true });
    expect(await breachesIn(db)).toEqual([]);
  });
});

describe('200 parallel spenders', () => {
  it('leave a clean ledger and the exact end of each of three grants, with an overdraft and a deduction', async () => {
    const second = await scratch.open();
    const doors = [db, second];
    const ledgers = doors.map((door) => openLedger(door));
    const chatLedgers = doors.map((door) => openChatLedger(door));
    const book = await openBook(db, { credits: 500 });
    const { projectId } = book;
    await updateProjectSettings(db, { projectId, changes: { overdraft: 300 }, actor });
    const amounts = [400, 300, 200];
    for (const [index, amount] of amounts.entries())
      await addCredits(
        { db },
        { projectId, amount, reference: `grant ${index}`, expiresAt: inHours(1 + index), actor },
      );
    // Soon, but not before all are added: a grant whose end has passed would be refused.
    const ends = [700, 1_400, 2_100].map((ms) => new Date(Date.now() + ms));
    for (const [index, end] of ends.entries())
      await run(db, 'update credit_grant set ends_at = $3 where project_id = $1 and reference = $2', [
        projectId,
        `grant ${index}`,
        end,
      ]);
    await run(db, 'update credit_account set grant_due_at = $2 where project_id = $1', [projectId, ends[0]]);

    const deduct = () => deductCredits({ db }, { projectId, amount: 150, reference: 'cb', reason: 'cb', actor });
    const until = ends[2]!.getTime() + 200;
    let deducted: Promise<unknown> | undefined;
    const spenders = Array.from({ length: 200 }, async (_, index) => {
      for (let n = 0; Date.now() < until; n++) {
        if (index === 0 && n === 3) deducted = deduct();
        if (index === 1) await endDueGrants(second);
        const process = (index + n) % 2;
        if (index % 3 === 0) {
          const task = newTask(book, 1 + (index % 4));
          if ((await ledgers[process]!.createTask(task)).kind !== 'created') continue;
          if (!(await ledgers[process]!.reserveTask(task.taskId, true)).admitted) continue;
          await attemptEndedOk(db, task.taskId);
          await ledgers[process]!.finishTask(taskEnd(task.taskId, n % 2 === 0 ? 'failed' : 'succeeded'));
        } else {
          const chat = anAdmission(book, { credits: 2 + (index % 5) });
          const { verdict } = await chatLedgers[process]!.admit(chat);
          if (verdict.kind === 'admitted') await chatLedgers[process]!.end(settledEnd(chat, n % 8 === 0 ? 1 : 0));
        }
      }
    });
    await Promise.all(spenders);
    // On a slow machine the first spender has no fourth turn.
    await (deducted ?? deduct());
    await endDueGrants(db);
    expect(await breachesIn(db)).toEqual([]);
    expect(await rowsOf(db, 'select from hold where project_id = $1', [projectId])).toEqual([]);

    const grants = await rowsOf<{
      amount: number;
      spent: number;
      absorbed: number;
      expired: number;
      isClosed: boolean;
    }>(
      db,
      'select amount, spent, absorbed, expired, is_closed from credit_grant where project_id = $1 order by ends_at',
      [projectId],
    );
    expect(grants.map(({ isClosed }) => isClosed)).toEqual([true, true, true]);
    expect(grants.map(({ spent, absorbed, expired }) => spent + absorbed + expired)).toEqual(amounts);
    expect(grants.map(({ spent }) => spent)).toEqual(await spentByReplay(projectId, ends, amounts));
    const [sums] = await rowsOf<{ charged: number; expired: number }>(
      db,
      `select coalesce(-sum(credits) filter (where kind = 'settle'), 0)::bigint as charged,
         coalesce(-sum(credits) filter (where kind = 'expiry'), 0)::bigint as expired
       from ledger_entry where project_id = $1`,
      [projectId],
    );
    const expired = grants.reduce((sum, one) => sum + one.expired, 0);
    expect(sums!.expired).toBe(expired);
    expect((await accountOf(db, projectId)).balance).toBe(500 + 900 - 150 - sums!.charged - expired);
  });
});

/** What each grant paid for, computed from the entries of the ledger alone. */
async function spentByReplay(projectId: string, ends: Date[], amounts: number[]): Promise<number[]> {
  const rows = await rowsOf<{ credits: number; kind: string; id: number; beganMs: number }>(
    db,
    `select kind, -credits as credits, id, extract(epoch from began_at)::float8 * 1000 as began_ms from ledger_entry
     where project_id = $1 and kind = 'settle'`,
    [projectId],
  );
  const left = [...amounts];
  const charged = ends.map((end, index) =>
    rows
      .filter(({ beganMs }) => beganMs < end.getTime() && (index === 0 || beganMs >= ends[index - 1]!.getTime()))
      .reduce((sum, { credits }) => sum + credits, 0),
  );
  for (const [period, used] of charged.entries()) {
    let open = used;
    for (let index = period; index < left.length; index++) {
      const part = Math.min(open, left[index]!);
      left[index]! -= part;
      open -= part;
    }
  }
  return left.map((rest, index) => amounts[index]! - rest);
}
