import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { adjustCredits } from '../../../src/services/ledger/adjust-credits.ts';
import {
  firstAttemptId,
  type AttemptEnding,
  type ChatAdmissionRequest,
  type ChatLedger,
} from '../../../src/db/chat/chat-ledger.ts';
import type { ChatView } from '../../../src/db/chat/chats.ts';
import type { Database } from '../../../src/db/database.ts';
import { listChats, type ChatFilter } from './list-chats.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { addKey, admitted, newId, newTask, openBook, openLedger, rowsOf, run, taskEnd, type Book } from '../books.ts';
import { anAdmission, openChatLedger, settledEnd } from '../chat-books.ts';

let scratch: TestDatabase;
let db: Database;
let chats: ChatLedger;
/** Two projects, the first with two keys. */
let books: readonly [Book, Book, Book];
/** Every chat in the order of the list, newest first, those that run before those that ended. */
let expected: { requestId: string; facts: Required<Omit<ChatFilter, 'createdFrom' | 'createdBefore'>> }[];

/** The channels by their ids: the first call of every fourth chat fails, and its second call is to the other channel. */
const channels = ['chn_first', 'chn_second'];
const ended = 48;
/** Seconds between the ends of two chats. */
const apart = 60;
const newest = Math.floor(Date.now() / 1_000) - 3_600;

beforeAll(async () => {
  scratch = await createTestDatabase();
  db = await scratch.open();
  chats = openChatLedger(db);
  const first = await openBook(db, { credits: 10_000 });
  books = [first, { ...first, keyId: await addKey(db, first.projectId) }, await openBook(db, { credits: 10_000 })];
  for (const id of channels)
    await run(
      db,
      `insert into channel (id, name, adapter, base_url, credential, groups)
       values ($1, $1 || '-name', 'openai', 'http://127.0.0.1:1', 'sealed', '{default}')`,
      [id],
    );
  expected = [];
  for (let n = 0; n < ended; n += 1) expected.unshift(await endOne(n));
  await moveApart();
  // What a list of chats leaves out.
  const ledger = openLedger(db);
  const { taskId } = await admitted(ledger, newTask(first, 5));
  await ledger.finishTask(taskEnd(taskId, 'failed'));
  for (let n = 0; n < 3; n += 1) expected.unshift(await beginOne(n));
});
afterAll(() => scratch.drop());

const bookOf = (n: number): Book => books[(n % 3) as 0 | 1 | 2];
const modelOf = (n: number): string => `model-${n % 5}`;
const admissionOf = (n: number): ChatAdmissionRequest =>
  anAdmission(bookOf(n), {
    requestId: `req_${String(n).padStart(26, '0')}`,
    credits: 4,
    modelId: modelOf(n),
    channelId: 'chn_first',
    channelName: 'chn_first-name',
  });

async function endOne(n: number): Promise<(typeof expected)[number]> {
  const admission = admissionOf(n);
  await chats.admit(admission);
  const isRefunded = n % 7 === 0;
  const isSecond = n % 4 === 0;
  const failed: AttemptEnding = { attemptId: firstAttemptId(admission.requestId), outcome: 'transient', ...unnamed };
  const second = { attemptId: newId('att'), n: 2, channelId: 'chn_second', channelName: 'chn_second-name' };
  if (isSecond) await chats.nextAttempt({ requestId: admission.requestId, ended: failed, ...second });
  const { attemptId, channelId } = isSecond ? second : { ...failed, channelId: 'chn_first' };
  const facts = { requestId: admission.requestId, channelId };
  if (isRefunded) await chats.refund('upstream_failed', { ...facts, attempt: { ...failed, attemptId } });
  else {
    const attempt: AttemptEnding = { attemptId, outcome: 'ok', ...unnamed };
    await chats.end({ ...settledEnd(admission, 3), costMicroUsd: 5, ...facts, attempt });
  }
  return expectedChat(n, {
    outcome: isRefunded ? 'refunded' : 'succeeded',
    channel: isSecond ? 'chn_second-name' : 'none',
  });
}

const unnamed = { errorClass: null, status: null, detail: null };

async function beginOne(n: number): Promise<(typeof expected)[number]> {
  const admission = { ...admissionOf(n), requestId: `req_running_${n}` };
  await chats.admit(admission);
  return { ...expectedChat(n, { outcome: 'running', channel: 'none' }), requestId: admission.requestId };
}

/** `channel` is one that was called beside `chn_first`. */
const expectedChat = (n: number, { outcome, channel }: { outcome: ChatView['outcome']; channel: string }) => ({
  requestId: admissionOf(n).requestId,
  facts: {
    projectId: bookOf(n).projectId,
    keyId: bookOf(n).keyId,
    modelId: modelOf(n),
    channel,
    outcome,
    reason: outcome === 'refunded' ? ('upstream_failed' as const) : ('client_left' as const),
  },
});

/** The ends are a minute apart, the newest an hour ago. */
const moveApart = (): Promise<unknown> =>
  db.transaction('begin', async (query) => {
    await query('', 'set local session_replication_role = replica');
    await query(
      '',
      `update ledger_entry e set created_at = to_timestamp($1::float8 - $2::float8 * (m.back - 1)), began_at = to_timestamp($1::float8 - $2::float8 * m.back)
       from (select id, row_number() over (order by id desc) as back from ledger_entry where request_id is not null) m where m.id = e.id`,
      [newest, apart],
    );
    await query('', `update ledger_entry set created_at = to_timestamp($1) where kind = 'topup'`, [newest - 86_400]);
  });

/** All pages of a list. */
async function pagesOf(filter: ChatFilter, limit: number, scannedMax?: number): Promise<string[][]> {
  const pages: string[][] = [];
  let after: string | null = null;
  do {
    const page: Awaited<ReturnType<typeof listChats>> = await listChats(db, filter, { limit, after }, scannedMax);
    pages.push(page.items.map(({ requestId }) => requestId));
    after = page.next;
  } while (after !== null);
  return pages;
}

const expectedOf = (matches: (chat: (typeof expected)[number]) => boolean): string[] =>
  expected.filter(matches).map(({ requestId }) => requestId);

describe('listChats', () => {
  it('lists those that run and then those that ended, newest first, once each over all pages', async () => {
    const pages = await pagesOf({}, 7);
    expect(pages.flat()).toEqual(expectedOf(() => true));
    expect(pages.map(({ length }) => length)).toEqual([7, 7, 7, 7, 7, 7, 7, 2]);
    // A page may end among those that run.
    expect((await pagesOf({}, 2)).flat()).toEqual(expectedOf(() => true));
  });

  const filters = (): [string, ChatFilter][] => {
    const [book, , other] = books;
    return [
      ['a project', { projectId: book.projectId }],
      ['a key', { keyId: book.keyId }],
      ['a key of the project', { projectId: book.projectId, keyId: book.keyId }],
      ['a key of another project', { projectId: other.projectId, keyId: book.keyId }],
      ['a model', { modelId: 'model-3' }],
      ['a model of a project', { projectId: other.projectId, modelId: 'model-3' }],
      ...(['running', 'succeeded', 'incomplete', 'refunded'] as const).map((outcome): [string, ChatFilter] => [
        outcome,
        { outcome },
      ]),
      ['a reason', { reason: 'upstream_failed' }],
      ['a reason of another outcome', { reason: 'upstream_failed', outcome: 'incomplete' }],
      ['a channel that was called second', { channel: 'chn_second-name' }],
      ['an unknown channel', { channel: 'nobody' }],
    ];
  };
  /** A chat that was not refunded has no reason, though the facts of a running one say so to match nothing. */
  const matches =
    (filter: ChatFilter) =>
    ({ facts }: (typeof expected)[number]): boolean =>
      Object.entries(filter).every(([name, value]) => facts[name as keyof typeof facts] === value) &&
      (filter.reason === undefined || facts.outcome === 'refunded');

  it('shows with each filter, and with a scan of every length, exactly the chats that match', async () => {
    for (const [name, filter] of filters())
      for (const scannedMax of [undefined, 1, 5, 1_000]) {
        const found = (await pagesOf(filter, 4, scannedMax)).flat();
        expect({ name, scannedMax, found }).toEqual({ name, scannedMax, found: expectedOf(matches(filter)) });
      }
    expect((await pagesOf({ channel: 'chn_first' }, 10)).flat()).toEqual(expectedOf(() => true));
  });

  it('finds the chats of a time by their beginnings, to the second, of all projects and of one', async () => {
    const order = expected.filter(({ facts }) => facts.outcome !== 'running');
    const [createdFrom, createdBefore] = [newest - 31 * apart, newest - 11 * apart];
    const between = order.slice(11, 31);
    expect((await pagesOf({ createdFrom, createdBefore }, 6)).flat()).toEqual(
      between.map(({ requestId }) => requestId),
    );
    const { projectId } = books[2];
    const own = between.filter(({ facts }) => facts.projectId === projectId).map(({ requestId }) => requestId);
    expect((await pagesOf({ createdFrom, createdBefore, projectId }, 3)).flat()).toEqual(own);
    // Those that run began later.
    const running = expected.slice(0, 3).map(({ requestId }) => requestId);
    expect((await pagesOf({ createdFrom: newest - apart }, 6)).flat()).toEqual([...running, order[0]?.requestId]);
  });

  it('stops after a bounded number of entries, with fewer rows and a further page', async () => {
    const page = await listChats(db, { modelId: 'model-none' }, { limit: 10, after: null }, 20);
    expect(page).toEqual({ items: [], next: expect.stringMatching(/^ended\./) });
  });

  it('says of each chat what was called, what it used and what it cost', async () => {
    const requestId = admissionOf(4).requestId;
    await adjustCredits({ db }, { requestId, amount: 2, reason: 'sorry', actor: 'test' });
    const { items } = await listChats(db, {}, { limit: 100, after: null });
    const of = (id: string) => items.find((chat) => chat.requestId === id);
    expect(of(requestId)).toMatchObject({
      channels: ['chn_first-name', 'chn_second-name'],
      creditsHeld: 4,
      creditsCharged: 3,
      creditsGivenBack: 2,
      costMicroUsd: 5,
      inputTokens: 1,
      outputTokens: 1,
      usageEstimated: false,
      reason: null,
      tookMs: apart * 1_000,
    });
    expect(of(admissionOf(1).requestId)).toMatchObject({ channels: ['chn_first-name'], costMicroUsd: 5 });
    expect(of('req_running_1')).toMatchObject({
      outcome: 'running',
      channels: ['chn_first-name'],
      endedAt: null,
      tookMs: null,
      creditsCharged: 0,
      expiresAt: expect.any(Number),
    });
  });
});

describe('first_entry_since', () => {
  it('finds the first entry of every time, and the next id after the last one', async () => {
    const entries = await rowsOf<{ id: number; at: number }>(
      db,
      'select id, extract(epoch from created_at)::float8 as at from ledger_entry order by id',
    );
    const inOrder = entries.filter(({ at }, index) => index === 0 || at >= (entries[index - 1]?.at ?? 0));
    for (const { at } of inOrder.slice(-10)) {
      const [row] = await rowsOf<{ id: number }>(db, 'select first_entry_since(to_timestamp($1)) as id', [at]);
      expect(row?.id).toBe(entries.find((entry) => entry.at >= at)?.id);
    }
    const [row] = await rowsOf<{ id: number }>(db, `select first_entry_since('infinity') as id`);
    expect(row?.id).toBe((entries.at(-1)?.id ?? 0) + 1);
  });
});
