import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import type { ChatAdmissionRequest, ChatLedger } from '../../../src/db/chat/chat-ledger.ts';
import type { Database } from '../../../src/db/database.ts';
import { isLostChatRunning, keepUndelivered, leaveLostChat, takeLostChat } from '../../../src/db/idempotency.ts';
import { purgeUndelivered } from '../../../src/db/scheduled-jobs/retention.ts';
import { adjustCredits } from '../../../src/services/ledger/adjust-credits.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { breachesIn, openBook, rowsOf, run, type Book } from '../books.ts';
import { anAdmission, openChatLedger, refundFacts, settledEnd } from '../chat-books.ts';

let books: TestDatabase;
let db: Database;
let ledger: ChatLedger;
let book: Book;

beforeAll(async () => {
  books = await createTestDatabase();
  db = await books.open();
  ledger = openChatLedger(db);
  book = await openBook(db, { credits: 1_000 });
});
afterAll(() => books?.drop());
afterEach(async () => expect(await breachesIn(db)).toEqual([]));

/** A running chat that has lost its client; null if it has no answer. */
async function lost(fingerprint: string, answer: string | null = 'sealed'): Promise<ChatAdmissionRequest> {
  const admission = anAdmission(book);
  await ledger.admit(admission);
  const { requestId } = admission;
  await keepUndelivered(db, { ...admission, fingerprint }, { requestId, answer });
  return admission;
}
const equal = (fingerprint: string) => ({ projectId: book.projectId, keyId: book.keyId, fingerprint });
const take = async (fingerprint: string): Promise<string | undefined> =>
  (await takeLostChat(db, equal(fingerprint)))?.requestId;

it('goes to one equal request once it is charged, also if it ends with chats that have an Idempotency-Key', async () => {
  const chat = await lost('grouped');
  const keyed = anAdmission(book, {
    idempotency: { route: '/v1/messages', key: 'k', fingerprint: 'f', keptSeconds: 60 },
  });
  await ledger.admit(keyed);
  expect([await take('grouped'), await isLostChatRunning(db, equal('grouped'))]).toEqual([undefined, true]);
  await Promise.all([
    ledger.end({ ...settledEnd(keyed, 1), answer: { status: 200, body: 'kept' } }),
    ledger.end(settledEnd(chat, 1)),
  ]);
  expect(await isLostChatRunning(db, equal('grouped'))).toBe(false);
  expect(await take('of another body')).toBeUndefined();
  expect([await take('grouped'), await take('grouped')]).toEqual([chat.requestId, undefined]);
});

it('is given back by a request that lost its client as well, and erased once it was delivered', async () => {
  const { requestId, ...chat } = await lost('back');
  await ledger.end(settledEnd({ requestId, ...chat }, 1));
  await take('back');
  await leaveLostChat(db, chat, { requestId, isDelivered: false });
  expect(await take('back')).toBe(requestId);
  await leaveLostChat(db, chat, { requestId, isDelivered: true });
  expect(await take('back')).toBeUndefined();
  expect(await rowsOf(db, 'select body from idempotency where request_id = $1', [requestId])).toEqual([{ body: null }]);
});

it('goes to nobody without an answer, or if it was refunded, or its charge given back', async () => {
  const [silent, refunded, returned] = [await lost('none', null), await lost('none'), await lost('none')];
  await ledger.end(settledEnd(silent, 1));
  await ledger.refund('upstream_failed', refundFacts(refunded));
  await ledger.end(settledEnd(returned, 1));
  await adjustCredits({ db }, { actor: 'test', requestId: returned.requestId, amount: 1, reason: 'complaint' });
  expect([await take('none'), await isLostChatRunning(db, equal('none'))]).toEqual([undefined, false]);
});

it('is deleted with its answer within the sweep after its time is over', async () => {
  const { requestId } = await lost('old');
  const count = async () => (await rowsOf(db, 'select from idempotency where request_id = $1', [requestId])).length;
  await purgeUndelivered(db, 200);
  expect(await count()).toBe(1);
  await run(db, `update idempotency set expires_at = clock_timestamp() - interval '1 second' where request_id = $1`, [
    requestId,
  ]);
  await purgeUndelivered(db, 200);
  expect(await count()).toBe(0);
});
