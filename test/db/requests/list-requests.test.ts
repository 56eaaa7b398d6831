import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Database } from '../../../src/db/database.ts';
import { insertAdjustment } from '../../../src/db/ledger/credits.ts';
import type { Page } from '../../../src/domain/page.ts';
import { listNewestRequests } from '../../../src/db/requests/list-requests.ts';
import type { RequestFilter, RequestView } from '../../../src/db/requests/request-filter.ts';
import { listRequests } from '../../../src/db/requests/sorted-requests.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { admitted, attemptEndedOk, newTask, openBook, openLedger, run, taskEnd, type Book } from '../books.ts';
import { readsOf, stopAutovacuum } from '../block-reads.ts';
import { anAdmission, openChatLedger, refundFacts, settledEnd } from '../chat-books.ts';

let scratch: TestDatabase;
let db: Database;
let books: readonly [Book, Book];
/** By their ids, in the order of their ends, the oldest first. */
const all: Recorded[] = [];
const endedCount = 36;
/** The newest request ended an hour before this second. */
const movedAt = Math.floor(Date.now() / 1_000);

/** What is known of each request, by the filters of the list. */
interface Recorded {
  id: string;
  type: 'chat' | 'image' | 'video';
  outcome: RequestView['outcome'];
  reason: string | null;
  modelId: string;
  projectId: string;
  channel: string;
  credits: number;
  tookMs: number;
  cost: number;
}

beforeAll(async () => {
  scratch = await createTestDatabase();
  db = await scratch.open();
  books = [await openBook(db, { credits: 100_000 }), await openBook(db, { credits: 100_000 })];
  for (const id of ['chn_a', 'chn_won'])
    await run(
      db,
      `insert into channel (id, name, adapter, base_url, credential, groups)
       values ($1, $1 || '-name', 'openai', 'http://127.0.0.1:1', 'sealed', '{default}')`,
      [id],
    );
  for (let n = 0; n < endedCount; n += 1) all.push(await (n % 3 === 0 ? endTask(n) : endChat(n)));
  await moveApart();
  for (let n = 0; n < 2; n += 1) all.push(await begin(n));
});
afterAll(() => scratch.drop());

const bookOf = (n: number): Book => books[(n % 2) as 0 | 1];
/** Neither the charge nor the time, which is in minutes, rises with the order of the ends. */
const creditsOf = (n: number): number => 1 + ((n * 17) % endedCount);
const tookMsOf = (n: number): number => 60_000 * (1 + ((n * 7) % endedCount));
const common = (n: number) => ({
  modelId: `model-${n % 4}`,
  projectId: bookOf(n).projectId,
  tookMs: tookMsOf(n),
});

async function endTask(n: number): Promise<Recorded> {
  const ledger = openLedger(db);
  const type = n % 2 === 0 ? 'image' : 'video';
  const task = newTask(bookOf(n), creditsOf(n), { type, modelId: `model-${n % 4}` });
  await admitted(ledger, task);
  const isRefunded = n % 9 === 0;
  if (!isRefunded) {
    await attemptEndedOk(db, task.taskId);
    await run(db, 'update attempt set cost_micro_usd = $2 where request_id = $1', [task.taskId, n]);
  }
  await ledger.finishTask(taskEnd(task.taskId, isRefunded ? 'failed' : 'succeeded'));
  // What operators could write before it was refused is no reason of a task.
  const adjustment = { requestId: task.taskId, amount: 1, reason: 'not_delivered', actor: 'test' };
  if (n === 12) await insertAdjustment(db, adjustment);
  return {
    id: task.taskId,
    type,
    ...common(n),
    outcome: isRefunded ? 'refunded' : 'succeeded',
    reason: isRefunded ? 'upstream_failed' : null,
    channel: isRefunded ? 'none' : 'chn_won',
    credits: isRefunded ? 0 : creditsOf(n),
    cost: isRefunded ? 0 : n,
  };
}

async function endChat(n: number): Promise<Recorded> {
  const chats = openChatLedger(db);
  const admission = anAdmission(bookOf(n), { credits: 100, modelId: `model-${n % 4}` });
  await chats.admit(admission);
  const isRefunded = n % 5 === 0;
  if (isRefunded) await chats.refund('content_policy_violation', refundFacts(admission));
  else await chats.end({ ...settledEnd(admission, creditsOf(n)), costMicroUsd: n });
  const isUndelivered = !isRefunded && n % 7 === 6;
  if (isUndelivered) await chats.giveBack(settledEnd(admission, creditsOf(n)));
  return {
    id: admission.requestId,
    type: 'chat',
    ...common(n),
    outcome: isRefunded ? 'refunded' : 'succeeded',
    reason: isRefunded ? 'content_policy_violation' : isUndelivered ? 'not_delivered' : null,
    channel: 'chn_a',
    credits: isRefunded ? 0 : creditsOf(n),
    cost: isRefunded ? 0 : n,
  };
}

async function begin(n: number): Promise<Recorded> {
  const recorded = { ...common(n), outcome: 'running', reason: null, credits: 0, tookMs: 0, cost: 0 } as const;
  if (n === 0) {
    const task = await admitted(openLedger(db), newTask(bookOf(n), 1, { type: 'video', modelId: recorded.modelId }));
    return { ...recorded, id: task.taskId, type: 'video', channel: 'none' };
  }
  const admission = anAdmission(bookOf(n), { modelId: recorded.modelId });
  await openChatLedger(db).admit(admission);
  return { ...recorded, id: admission.requestId, type: 'chat', channel: 'chn_a' };
}

/** The ends are a minute apart, the newest an hour ago. */
async function moveApart(): Promise<void> {
  await db.transaction('begin', async (query) => {
    await query('', 'set local session_replication_role = replica');
    for (const [index, { id, tookMs }] of all.entries())
      await query(
        '',
        `update ledger_entry set created_at = at, began_at = at - $3::bigint * interval '1 millisecond'
         from (select to_timestamp($2) as at) a where request_id = $1`,
        [id, movedAt - 3_600 - 60 * (all.length - 1 - index), tookMs],
      );
    await query('', `update ledger_entry set created_at = created_at - interval '2 days' where kind = 'topup'`);
  });
}

const idOf = ({ taskId, requestId }: RequestView): string => taskId ?? requestId;

async function idsOf(read: (after: string | null) => Promise<Page<RequestView>>): Promise<string[]> {
  const found: string[] = [];
  let after: string | null = null;
  do {
    const page: Page<RequestView> = await read(after);
    found.push(...page.items.map(idOf));
    after = page.next;
  } while (after !== null);
  return found;
}
const newestOf = (filter: RequestFilter, scannedMax?: number): Promise<string[]> =>
  idsOf((after) => listNewestRequests(db, filter, { limit: 4, after }, scannedMax));
const sortedBy = (sort: string, filter: RequestFilter = {}): Promise<string[]> =>
  idsOf((after) => listRequests(db, filter, { limit: 5, after, sort }));

const ids = (recorded: readonly Recorded[]): string[] => recorded.map(({ id }) => id);
const newestFirst = (): Recorded[] => all.toReversed();

describe('listRequests', () => {
  const filters = (): [string, RequestFilter, (recorded: Recorded) => boolean][] => [
    ['everything', {}, () => true],
    ...(['chat', 'image', 'video'] as const).map((type): [string, RequestFilter, (recorded: Recorded) => boolean] => [
      type,
      { type },
      (recorded) => recorded.type === type,
    ]),
    ['a project', { projectId: books[1].projectId }, ({ projectId }) => projectId === books[1].projectId],
    ['a key', { keyId: books[0].keyId }, ({ projectId }) => projectId === books[0].projectId],
    ['a model', { modelId: 'model-2' }, ({ modelId }) => modelId === 'model-2'],
    ['a channel of tasks', { channel: 'chn_won' }, ({ channel }) => channel === 'chn_won'],
    ['a channel of chats', { channel: 'chn_a-name' }, ({ channel }) => channel === 'chn_a'],
    ...(['running', 'succeeded', 'refunded'] as const).map(
      (outcome): [string, RequestFilter, (recorded: Recorded) => boolean] => [
        outcome,
        { outcome },
        (recorded) => recorded.outcome === outcome,
      ],
    ),
    ['the error of a task', { reason: 'upstream_failed' }, ({ reason }) => reason === 'upstream_failed'],
    ['chats that were not delivered', { reason: 'not_delivered' }, ({ reason }) => reason === 'not_delivered'],
    // The running requests are younger, however slow the machine is.
    ['20 minutes or longer', { minMs: 1_200_000 }, ({ tookMs }) => tookMs >= 1_200_000],
    ['20 credits or more', { minCredits: 20 }, ({ credits }) => credits >= 20],
    [
      'videos of a key',
      { type: 'video', keyId: books[0].keyId },
      (recorded) => recorded.type === 'video' && recorded.projectId === books[0].projectId,
    ],
  ];

  it('shows with each filter, and with a scan of every length, exactly the requests that match, newest first', async () => {
    for (const [name, filter, matches] of filters())
      for (const scannedMax of [undefined, 1, 7]) {
        const found = await newestOf(filter, scannedMax);
        expect({ name, scannedMax, found }).toEqual({ name, scannedMax, found: ids(newestFirst().filter(matches)) });
      }
  });

  it('finds the requests of a time by their beginnings, of all projects and of one', async () => {
    const endOf = (index: number): number => movedAt - 3_600 - 60 * (endedCount - 1 - index);
    const [createdFrom, createdBefore] = [endOf(10) - 40, endOf(25) - 40];
    for (const projectId of [undefined, books[0].projectId]) {
      const expected = newestFirst().filter((recorded) => {
        const began = endOf(all.indexOf(recorded)) - recorded.tookMs / 1_000;
        const isOwn = projectId === undefined || recorded.projectId === projectId;
        return isOwn && recorded.outcome !== 'running' && began >= createdFrom && began < createdBefore;
      });
      expect(await newestOf({ projectId, createdFrom, createdBefore })).toEqual(ids(expected));
    }
  });

  const figures: [string, (recorded: Recorded) => number | string][] = [
    // What is shown, also if it stands on the adjustment of a chat that was not delivered.
    ['reason', ({ reason }) => reason ?? ''],
    ['took_ms', ({ outcome, tookMs }) => (outcome === 'running' ? -1 : tookMs)],
    ['credits', ({ credits }) => credits],
    ['cost_micro_usd', ({ cost }) => cost],
  ];
  it.each(figures)(
    'sorts all of them by %s in both directions, page by page, also those of a filter',
    async (name, of) => {
      const rising = (recorded: readonly Recorded[]) =>
        recorded.map(of).toSorted((a, b) => (a < b ? -1 : Number(a > b)));
      const figureOf = (id: string): number | string => all.filter((recorded) => recorded.id === id).map(of)[0] ?? NaN;
      for (const [, filter, matches] of filters()) {
        const expected = rising(all.filter(matches));
        expect((await sortedBy(name, filter)).map(figureOf)).toEqual(expected);
        expect((await sortedBy(`-${name}`, filter)).map(figureOf)).toEqual(expected.toReversed());
      }
    },
  );

  it('says of a task what its row and its attempts know', async () => {
    const task = all.findLast(({ type, outcome }) => type === 'image' && outcome === 'succeeded');
    const { items } = await listRequests(db, { type: 'image' }, { limit: 50, after: null });
    expect(items.find(({ taskId }) => taskId === task?.id)).toMatchObject({
      requestId: expect.stringMatching(/^req_/),
      type: 'image',
      channels: ['won'],
      creditsCharged: task?.credits,
      costMicroUsd: task?.cost,
      tookMs: task?.tookMs,
      inputTokens: null,
    });
  });

  it('reads no more for chats that were not delivered if many others were not', async () => {
    const observer = await scratch.open({ poolMax: 1 });
    await stopAutovacuum(observer);
    const [{ projectId, keyId }, other] = books;
    const insert = (count: number, kind: 'settle' | 'adjust', values: unknown[]) =>
      run(
        db,
        `insert into ledger_entry (project_id, key_id, kind, reason, held, request_id, credits, balance_after, model_id, began_at)
         select $1, $2, '${kind}', $3, $4::bigint, '${kind}_' || n, 0, 1, 'model-0', clock_timestamp() from generate_series(1, ${count}) n`,
        values,
      );
    const reader = await scratch.open({ poolMax: 1 });
    const blocksOf = async (): Promise<number> => {
      await run(db, 'analyze ledger_entry');
      // What its sessions have read counts now. An idle session adds it to PostgreSQL's counters ten seconds later, perhaps beside the read.
      await Promise.all(Array.from({ length: 4 }, () => run(db, 'select pg_stat_force_next_flush(), pg_sleep(0.05)')));
      const read = () => listNewestRequests(reader, { reason: 'not_delivered', keyId }, { limit: 50, after: null });
      // So often that PostgreSQL chooses its generic plan.
      for (let call = 0; call < 6; call += 1) await read();
      return (await readsOf(observer, reader)(read)).tables['ledger_entry'] ?? 0;
    };
    await insert(5_000, 'settle', [projectId, keyId, null, 1]);
    const few = await blocksOf();
    await insert(30_000, 'adjust', [other.projectId, other.keyId, 'not_delivered', null]);
    expect(await blocksOf()).toBeLessThan(few + 50);
  });
});
