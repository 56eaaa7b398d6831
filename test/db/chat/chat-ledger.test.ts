import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { adjustCredits } from '../../../src/services/ledger/adjust-credits.ts';
import {
  ChatLedger,
  expireChats,
  firstAttemptId,
  type ChatAdmission,
  type ChatAdmissionRequest,
} from '../../../src/db/chat/chat-ledger.ts';
import type { Database } from '../../../src/db/database.ts';
import { markReplayed } from '../../../src/db/idempotency.ts';
import { accountOf, addKey, breachesIn, entriesOf, newId, openBook, rowsOf, run, type Book } from '../books.ts';
import { anAdmission, openChatLedger, refundFacts, settledEnd } from '../chat-books.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

let books: TestDatabase;
let db: Database;
let other: Database;
let ledger: ChatLedger;
/** The ledger of another process. */
let otherLedger: ChatLedger;

beforeAll(async () => {
  books = await createTestDatabase();
  [db, other] = await Promise.all([books.open(), books.open()]);
  ledger = openChatLedger(db);
  otherLedger = openChatLedger(other);
});
afterAll(() => books?.drop());
afterEach(async () => expect(await breachesIn(db)).toEqual([]));

const verdictOf = ({ verdict }: ChatAdmission): string => (verdict.kind === 'refused' ? verdict.code : verdict.kind);

/** Admits the chats as one group, in one call. */
const admitTogether = async (members: readonly ChatAdmissionRequest[], door = ledger): Promise<string[]> =>
  (await Promise.all(members.map((member) => door.admit(member)))).map(verdictOf);

const admitOne = async (member: ChatAdmissionRequest, door = ledger): Promise<string> =>
  verdictOf(await door.admit(member));

const once = (key: string, fingerprint = 'same body') => ({
  idempotency: { route: '/api/v1/chat/completions', key, fingerprint, keptSeconds: 3_600 },
});

async function keyOf(keyId: string) {
  const [row] = await rowsOf<{ spent: number; reserved: number; inFlight: number }>(
    db,
    'select spent, reserved, in_flight from api_key where id = $1',
    [keyId],
  );
  return row;
}

describe('a group of chats', () => {
  it('is decided in order: with 10 credits, chats of 8 and 2 are admitted and one of 5 is refused', async () => {
    const book = await openBook(db, { credits: 10 });
    const verdicts = await admitTogether([8, 5, 2].map((credits) => anAdmission(book, { credits })));
    expect(verdicts).toEqual(['admitted', 'insufficient_credits', 'admitted']);
    expect(await accountOf(db, book.projectId)).toMatchObject({ balance: 0, reserved: 10 });
  });

  it('is limited by the budget of its key in the same way, which other keys of the project do not share', async () => {
    const book = await openBook(db, { credits: 100, budget: 10 });
    const rich: Book = { ...book, keyId: await addKey(db, book.projectId) };
    const verdicts = await admitTogether([
      anAdmission(book, { credits: 8 }),
      anAdmission(book, { credits: 5 }),
      anAdmission(rich, { credits: 50 }),
      anAdmission(book, { credits: 2 }),
      anAdmission(rich, { credits: 41 }),
    ]);
    expect(verdicts).toEqual(['admitted', 'key_budget_exceeded', 'admitted', 'admitted', 'insufficient_credits']);
    expect(await keyOf(book.keyId)).toEqual({ spent: 0, reserved: 10, inFlight: 2 });
  });

  it('is admitted although one member cannot be written', async () => {
    const book = await openBook(db, { credits: 10 });
    const unwritable = anAdmission(book, { modelId: 'a\u0000b' });
    const [first, bad, last] = await Promise.allSettled([
      ledger.admit(anAdmission(book, { credits: 3 })),
      ledger.admit(unwritable),
      ledger.admit(anAdmission(book, { credits: 4 })),
    ]);
    expect([first, last]).toMatchObject([
      { value: { verdict: { kind: 'admitted' } } },
      { value: { verdict: { kind: 'admitted' } } },
    ]);
    expect(bad.status).toBe('rejected');
    expect(await accountOf(db, book.projectId)).toMatchObject({ balance: 3, reserved: 7 });
  });

  it('gets the verdicts and the balances that its members get one after another', async () => {
    const random = mulberry(20_261_121);
    for (let round = 0; round < 12; round += 1) {
      const limits = { credits: 60, budget: 40, inFlightMax: 6 };
      const wishes = Array.from({ length: 16 }, () => ({
        credits: 1 + Math.floor(random() * 14),
        key: Math.floor(random() * 9),
      }));
      const books = [await openBook(db, limits), await openBook(db, limits)] as const;
      const wished = (book: Book) =>
        wishes.map(({ credits, key }) => anAdmission(book, { credits, ...(key < 3 && once(`key ${key}`)) }));
      const apart: string[] = [];
      for (const member of wished(books[0])) apart.push(await admitOne(member));
      expect(await admitTogether(wished(books[1]))).toEqual(apart);
      expect(await accountOf(db, books[1].projectId)).toEqual(await accountOf(db, books[0].projectId));
      expect(await keyOf(books[1].keyId)).toEqual(await keyOf(books[0].keyId));
    }
  });

  it('never exceeds the budget, with 200 chats of two processes at the same time', async () => {
    const book = await openBook(db, { credits: 1_000, budget: 100 });
    const requests = Array.from({ length: 200 }, () => anAdmission(book, { credits: 3 }));
    const verdicts = await Promise.all(
      requests.map((member, index) => admitOne(member, index % 2 === 0 ? ledger : otherLedger)),
    );
    expect(verdicts.filter((verdict) => verdict === 'admitted')).toHaveLength(33);
    expect(await keyOf(book.keyId)).toEqual({ spent: 0, reserved: 99, inFlight: 33 });
  });
});

describe('the admission of a chat', () => {
  it('is decided once: a second call for the same request returns the same verdict and holds no more credits', async () => {
    const book = await openBook(db, { credits: 10 });
    const admission = anAdmission(book, { credits: 6, rpm: 1 });
    expect(await admitOne(admission)).toBe('admitted');
    expect(await admitOne(admission, otherLedger)).toBe('admitted');
    expect(await accountOf(db, book.projectId)).toMatchObject({ balance: 4, reserved: 6 });
    expect(await rowsOf(db, 'select total from rate_window where key_id = $1', [book.keyId])).toEqual([{ total: 1 }]);
    expect(await entriesOf(db, admission.requestId)).toEqual({ hold: 1 });
  });

  it('is refused immediately if the key was revoked or has expired, its project is disabled, or the model is not allowed', async () => {
    const book = await openBook(db, { credits: 10 });
    const asks = () => admitOne(anAdmission(book));
    const keyIs = (change: string) => run(db, `update api_key set ${change} where id = $1`, [book.keyId]);
    expect(await asks()).toBe('admitted');
    await keyIs(`models = array['model-b']`);
    expect(await asks()).toBe('model_not_allowed');
    await keyIs('models = null');
    await run(db, `update project set status = 'disabled' where id = $1`, [book.projectId]);
    expect(await asks()).toBe('invalid_api_key');
    await run(db, `update project set status = 'active' where id = $1`, [book.projectId]);
    await keyIs(`expires_at = clock_timestamp() - interval '1 second'`);
    expect(await asks()).toBe('invalid_api_key');
    await keyIs('expires_at = null, revoked_at = clock_timestamp()');
    expect(await asks()).toBe('invalid_api_key');
    expect(await admitOne(anAdmission({ ...book, keyId: 'key_nobody' }))).toBe('invalid_api_key');
    expect(await accountOf(db, book.projectId)).toMatchObject({ balance: 9, reserved: 1 });
  });

  it('counts against the in-flight limit of the key until the chat has ended', async () => {
    const book = await openBook(db, { credits: 10, inFlightMax: 2 });
    const [first, second, third] = [anAdmission(book), anAdmission(book), anAdmission(book)];
    expect(await admitTogether([first, second, third])).toEqual(['admitted', 'admitted', 'concurrency_limit_exceeded']);
    await ledger.end(settledEnd(first, 1));
    expect(await admitOne(third)).toBe('admitted');
  });

  it('uses no idempotency key if it is refused, and gives a key to only one chat of a group', async () => {
    const book = await openBook(db, { credits: 5 });
    expect(await admitOne(anAdmission(book, { credits: 6, ...once('a') }))).toBe('insufficient_credits');
    const twins = [1, 2].map(() => anAdmission(book, { credits: 2, ...once('a') }));
    expect(await admitTogether(twins)).toEqual(['admitted', 'idempotency_in_progress']);
    expect(await admitOne(anAdmission(book, once('a', 'another body')))).toBe('idempotency_key_reused');
    expect(await accountOf(db, book.projectId)).toMatchObject({ balance: 3, reserved: 2 });
  });
});

describe('requests per minute', () => {
  it('are told for each chat of a key with a limit, in order, and for no chat of a key without one', async () => {
    const [limited, free] = [await openBook(db, { credits: 5 }), await openBook(db, { credits: 5 })];
    const requests = [anAdmission(limited, { rpm: 9 }), anAdmission(free), anAdmission(limited, { rpm: 9 })];
    const admissions = await Promise.all(requests.map((member) => ledger.admit(member)));
    expect(admissions.map(({ rate }) => rate?.remaining ?? null)).toEqual([8, null, 7]);
  });

  it('count a chat that was refused for lack of credits, and a chat above the limit holds nothing', async () => {
    const book = await openBook(db, { credits: 5 });
    const requests = [9, 1, 1].map((credits) => anAdmission(book, { credits, rpm: 2, ...once(newId('idem')) }));
    expect(await admitTogether(requests)).toEqual(['insufficient_credits', 'admitted', 'rate_limit_exceeded']);
    const bound = await rowsOf(db, 'select request_id from idempotency where project_id = $1', [book.projectId]);
    expect(bound).toEqual([{ requestId: requests[1]?.requestId }]);
  });
});

describe('a chat that is admitted after its client received 503', () => {
  const impatient = (door: Database) => new ChatLedger(door, { membersMax: 128, patienceMs: 300 });
  const factsOf = async ({ requestId }: ChatAdmissionRequest) => {
    const [row] = await rowsOf<{ state: string; outcome: string | null }>(
      db,
      'select r.state, a.outcome from reservation r join attempt a on a.request_id = r.id where r.id = $1',
      [requestId],
    );
    return row;
  };
  /** Admits while another transaction locks the account, until the 503 or until the statement has timed out. */
  const admitBehindLock = async (admission: ChatAdmissionRequest, until: '503' | 'lock timeout'): Promise<void> => {
    const door = impatient(until === '503' ? other : await books.open({ isHasty: true }));
    await db.transaction('begin', async (query) => {
      await query('', 'select 1 from credit_account where project_id = $1 for update', [admission.projectId]);
      await expect(door.admit(admission)).rejects.toMatchObject({ code: 'ETIMEDOUT' });
      // Its statement gives up while the account is locked.
      if (until === 'lock timeout') await door.flush();
    });
    await door.flush();
  };

  it('is refunded immediately, and its attempt, in-flight place and idempotency key are released', async () => {
    const book = await openBook(db, { credits: 10, inFlightMax: 1 });
    const admission = anAdmission(book, { credits: 6, ...once('late') });
    await admitBehindLock(admission, '503');
    expect(await factsOf(admission)).toEqual({ state: 'refunded', outcome: 'transient' });
    expect(await reasonsOf(admission)).toEqual(['admitted_late']);
    expect(await entriesOf(db, admission.requestId)).toEqual({ refund: 1 });
    expect(await accountOf(db, book.projectId)).toMatchObject({ balance: 10, reserved: 0 });
    expect(await keyOf(book.keyId)).toEqual({ spent: 0, reserved: 0, inFlight: 0 });
    expect(await admitOne(anAdmission(book, { credits: 6, ...once('late') }))).toBe('admitted');
  });

  it('is not written after its lock timeout', async () => {
    const book = await openBook(db, { credits: 10 });
    const admission = anAdmission(book, { credits: 6, ...once('too late') });
    await admitBehindLock(admission, 'lock timeout');
    expect(await factsOf(admission)).toBeUndefined();
    expect(await entriesOf(db, admission.requestId)).toEqual({});
    expect(await admitOne(anAdmission(book, once('too late')))).toBe('admitted');
  });
});

const reasonsOf = async ({ requestId }: ChatAdmissionRequest): Promise<(string | null)[]> => {
  const rows = await rowsOf<{ reason: string | null }>(
    db,
    'select reason from ledger_entry where request_id = $1 order by id',
    [requestId],
  );
  return rows.map(({ reason }) => reason);
};

describe('the end of a chat', () => {
  it('has its reason on its entry, each of a group its own, and none if an API server of release 0.2.0 writes it', async () => {
    const book = await openBook(db, { credits: 20 });
    const chats = Array.from({ length: 5 }, () => anAdmission(book));
    await admitTogether(chats);
    const [whole, cut, refunded, later, old] = chats as [ChatAdmissionRequest, ...ChatAdmissionRequest[]];
    if (!cut || !refunded || !later || !old) throw new Error('too few chats');
    await Promise.all([
      ledger.end(settledEnd(whole, 1)),
      ledger.end({ ...settledEnd(cut, 1), reason: 'client_left' }),
      ledger.refund('request_refused', refundFacts(refunded)),
      ledger.refund('upstream_unreachable', refundFacts(later)),
    ]);
    await run(
      db,
      `select end_chats(array[$1], array[null::bigint], array[null::text], array[null::bigint], array[null::bigint], array[false], array[0::bigint],
         array[first_attempt_id($1)], array['transient'], array[null::text], array[null::int], array[null::text], array[null::int], array[null::text])`,
      [old.requestId],
    );
    const reasons = [null, 'client_left', 'request_refused', 'upstream_unreachable', null];
    for (const [index, chat] of chats.entries()) expect(await reasonsOf(chat)).toEqual([reasons[index]]);
    // The first one to commit decides, and the entry never changes.
    await ledger.refund('internal_error', refundFacts(refunded));
    expect(await reasonsOf(refunded)).toEqual(['request_refused']);
  });

  it('is written once by concurrent calls, and never charges more than the hold', async () => {
    const book = await openBook(db, { credits: 20, budget: 20 });
    const admission = anAdmission(book, { credits: 8 });
    await ledger.admit(admission);
    const ends = await Promise.all([
      ledger.end(settledEnd(admission, 30)),
      otherLedger.refund('upstream_failed', refundFacts(admission)),
      ledger.end(settledEnd(admission, 2)),
    ]);
    expect(ends.filter(({ ended }) => ended)).toHaveLength(1);
    const [row] = await rowsOf<{ state: string; settledAmount: number | null }>(
      db,
      'select state, settled_amount from reservation where id = $1',
      [admission.requestId],
    );
    const charged = row?.settledAmount ?? 0;
    expect(charged).toBeLessThanOrEqual(8);
    expect(await accountOf(db, book.projectId)).toMatchObject({ balance: 20 - charged, reserved: 0 });
    expect(await keyOf(book.keyId)).toEqual({ spent: charged, reserved: 0, inFlight: 0 });
    expect(await ledger.end(settledEnd(admission, 5))).toEqual({ ended: false, charged });
  });

  it('is a refund with an unknown outcome if the hold expires, and a late answer changes nothing', async () => {
    const book = await openBook(db, { credits: 20 });
    const [gone, running] = [anAdmission(book, { credits: 8, ...once('gone') }), anAdmission(book, { credits: 3 })];
    await admitTogether([gone, running]);
    await run(db, `update hold set expires_at = clock_timestamp() - interval '1 second' where id = $1`, [
      gone.requestId,
    ]);
    expect(await expireChats(db, 10)).toBe(1);
    expect(await expireChats(db, 10)).toBe(0);
    expect(await ledger.end(settledEnd(gone, 8))).toEqual({ ended: false, charged: 0 });
    expect(await reasonsOf(gone)).toEqual(['hold_expired']);
    expect(await accountOf(db, book.projectId)).toMatchObject({ balance: 17, reserved: 3 });
    expect(
      await rowsOf(db, 'select outcome, error_class from attempt where id = $1', [firstAttemptId(gone.requestId)]),
    ).toEqual([{ outcome: 'unknown', errorClass: 'deadline' }]);
    expect(await admitOne(anAdmission(book, once('gone')))).toBe('admitted');
    const next = { requestId: gone.requestId, attemptId: newId('att'), n: 2, channelId: 'chn_b', channelName: 'b' };
    const ended = {
      attemptId: firstAttemptId(gone.requestId),
      outcome: 'transient',
      errorClass: null,
      status: null,
      detail: null,
    } as const;
    expect(await ledger.nextAttempt({ ...next, ended })).toBe(false);
  });

  it('is written by one sweep for every expired hold of a killed process', async () => {
    const book = await openBook(db, { credits: 25 });
    await admitTogether(Array.from({ length: 25 }, () => anAdmission(book, { credits: 1 })));
    await run(db, `update hold set expires_at = clock_timestamp() - interval '1 second' where project_id = $1`, [
      book.projectId,
    ]);
    expect(await expireChats(db, 10)).toBe(25);
    expect(await accountOf(db, book.projectId)).toMatchObject({ balance: 25, reserved: 0 });
  });
});

describe('a chat whose answer was not delivered', () => {
  const chatOfTen = async (key: string) => {
    const book = await openBook(db, { credits: 20, budget: 20 });
    const admission = anAdmission(book, { credits: 10, ...once(key) });
    await ledger.admit(admission);
    return { book, admission, end: { ...settledEnd(admission, 10), answer: { status: 200, body: 'sealed' } } };
  };
  const boundTo = ({ requestId }: ChatAdmissionRequest) =>
    rowsOf(db, 'select key from idempotency where request_id = $1', [requestId]);

  it('gets its charge back once, however many processes give it back, and frees its idempotency key', async () => {
    const { book, admission, end } = await chatOfTen('undelivered');
    await ledger.end(end);
    const amounts = await Promise.all([ledger.giveBack(end), otherLedger.giveBack(end), ledger.giveBack(end)]);
    expect(amounts.sort()).toEqual([0, 0, 10]);
    expect(await entriesOf(db, admission.requestId)).toEqual({ settle: 1, adjust: 1 });
    expect(await reasonsOf(admission)).toEqual([null, 'not_delivered']);
    expect(await accountOf(db, book.projectId)).toMatchObject({ balance: 20, reserved: 0 });
    expect(await keyOf(book.keyId)).toEqual({ spent: 0, reserved: 0, inFlight: 0 });
    expect(await boundTo(admission)).toEqual([]);
  });

  it('is refunded if its settlement was not committed, and a settlement that arrives later charges nothing', async () => {
    const { book, admission, end } = await chatOfTen('never settled');
    expect(await ledger.giveBack(end)).toBe(0);
    expect(await ledger.end(end)).toEqual({ ended: false, charged: 0 });
    expect(await entriesOf(db, admission.requestId)).toEqual({ refund: 1 });
    expect(await reasonsOf(admission)).toEqual(['not_delivered']);
    expect(await accountOf(db, book.projectId)).toMatchObject({ balance: 20, reserved: 0 });
    expect(await boundTo(admission)).toEqual([]);
  });

  it('gets back only what an operator has not given back before', async () => {
    const { book, admission, end } = await chatOfTen('adjusted');
    await ledger.end(end);
    await adjustCredits({ db }, { requestId: admission.requestId, amount: 4, reason: 'sorry', actor: 'test' });
    expect(await ledger.giveBack(end)).toBe(6);
    expect(await accountOf(db, book.projectId)).toMatchObject({ balance: 20, reserved: 0 });
  });

  it('stays charged if its answer was replayed', async () => {
    const { book, admission, end } = await chatOfTen('replayed');
    await ledger.end(end);
    expect(await markReplayed(other, admission.requestId)).toBe(true);
    expect(await ledger.giveBack(end)).toBe(0);
    expect(await accountOf(db, book.projectId)).toMatchObject({ balance: 10, reserved: 0 });
    expect(await boundTo(admission)).toHaveLength(1);
  });
});

describe('an adjustment', () => {
  it('is made once if two operators give the same reason at the same time, and never exceeds the charge', async () => {
    const book = await openBook(db, { credits: 20 });
    const admission = anAdmission(book, { credits: 10 });
    await ledger.admit(admission);
    await ledger.end(settledEnd(admission, 10));
    const give = (door: Database, reason: string, amount: number) =>
      adjustCredits({ db: door }, { requestId: admission.requestId, amount, reason, actor: 'test' });
    const same = await Promise.all([give(db, 'same', 4), give(other, 'same', 4)]);
    expect(same.map(({ returned }) => returned).sort()).toEqual([0, 4]);
    const two = await Promise.allSettled([give(db, 'one', 4), give(other, 'two', 4)]);
    expect(two.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(await accountOf(db, book.projectId)).toMatchObject({ balance: 18, reserved: 0 });
    expect(await keyOf(book.keyId)).toMatchObject({ spent: 2 });
    expect(await entriesOf(db, admission.requestId)).toEqual({ settle: 1, adjust: 2 });
  });

  it('frees the budget of the key', async () => {
    const book = await openBook(db, { credits: 20, budget: 10 });
    const admission = anAdmission(book, { credits: 10 });
    await ledger.admit(admission);
    await ledger.end(settledEnd(admission, 10));
    expect(await admitOne(anAdmission(book))).toBe('key_budget_exceeded');
    await adjustCredits({ db }, { requestId: admission.requestId, amount: 1, reason: 'room', actor: 'test' });
    expect(await admitTogether([anAdmission(book), anAdmission(book)])).toEqual(['admitted', 'key_budget_exceeded']);
  });
});

/** A random number generator with a fixed seed: the same numbers in [0, 1) in every run. */
function mulberry(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
