import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { addCredits } from '../../src/services/ledger/add-credits.ts';
import { deductCredits } from '../../src/services/ledger/deduct-credits.ts';
import { endDueGrants } from '../../src/db/ledger/grants.ts';
import { chat, countVerdicts, keyFacts, requestIdOf, verdictOf } from '../services/chat/chats.ts';
import type { Answer } from '../support/api-client.ts';
import { startChatUpstream, type ChatUpstream } from '../support/chat-upstream.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { accountOf } from '../support/rows.ts';
import {
  anyRun,
  highest,
  mostWithin,
  runningOf,
  SerialModel,
  serveChats,
  takingsOf,
  type Entry,
  type KeyName,
  type RandomChat,
  type ServedChats,
  type SentChat,
  type Try,
} from './random-chats.ts';

/** A failed run names its seed. Written here, the seed repeats the chats and the kills, but not their timing. */
const seed = randomInt(2 ** 31);
const limits = { budget: 80, rpm: 20, inFlightMax: 2 };
/** Bought at the start and after each kill for the account that is always nearly empty. */
const scarceCredits = 30;
const richCredits = 10_000;
/** Given to the rich account at each kill. Some end while chats run, and the others after the run. */
const grant = { credits: 60, seconds: 15 };
const deducted = 7;

interface RunKey {
  apiKey: string;
  projectId: string;
  keyId: string;
  budget?: number;
}

let gateway: Gateway;
let upstream: ChatUpstream;
let keys: Record<KeyName, RunKey>;
/** Of each project a key without limits, which fetches the answers of chats that were cut off. */
const spareKeys = new Map<string, string>();
/** The API servers, each of which is replaced by a new one after its kill. */
let apis: { name: string; baseUrl: string }[];
const model = new SerialModel();

beforeAll(async () => {
  upstream = await startChatUpstream();
  gateway = await startGateway({
    apis: 0,
    sandbox: false,
    env: {
      CHAT_DEADLINE_SECONDS: '4',
      CHAT_HOLD_EXTRA_SECONDS: '1',
      CHAT_ATTEMPT_LEFT_MIN_SECONDS: '1',
      // The chats that fail must not trip the channels, because then few chats would run.
      BREAKER_FAILURES_MAX: '1000000',
      RETRIES_PER_MINUTE_MIN: '1000000',
    },
  });
  await gateway.database.query(
    'test-channels',
    `update channel set enabled = name in ('sandbox-a-openai', 'sandbox-b-openai'), base_url = $1`,
    [upstream.url],
  );
  apis = await Promise.all([gateway.startApi(), gateway.startApi(), gateway.startApi()]);
  const [scarce, rich] = await Promise.all([
    gateway.project({ credits: scarceCredits }),
    gateway.project({ credits: richCredits, budget: limits.budget }),
  ]);
  model.buy(scarce.projectId, scarceCredits);
  model.buy(rich.projectId, richCredits);
  const { projectId } = rich;
  keys = {
    scarce,
    budgeted: { ...rich, budget: limits.budget },
    rated: { projectId, ...(await gateway.key(projectId, { rpm: limits.rpm })) },
    narrow: { projectId, ...(await gateway.key(projectId, { inFlightMax: limits.inFlightMax })) },
  };
  for (const id of [scarce.projectId, projectId]) spareKeys.set(id, (await gateway.key(id)).apiKey);
});
afterAll(async () => {
  await gateway?.stop();
  await upstream?.die();
});

const ask = (
  { text, maxTokens, isIdempotent }: SentChat,
  { apiKey, baseUrl }: { apiKey: string; baseUrl: string },
): Promise<Answer> =>
  chat(gateway, apiKey, text, {
    baseUrl,
    fields: { max_tokens: maxTokens },
    ...(isIdempotent && { headers: { 'idempotency-key': text } }),
  });

/** True if the API server was not there, so that nothing was sent. Errors of `fetch` are no instances of the test's own Error. */
const wasNotSent = (error: unknown): boolean => NotSent.safeParse(error).success;
const NotSent = z.object({ cause: z.object({ code: z.literal('ECONNREFUSED') }) });

const isReplay = ({ headers }: Answer): boolean => headers.has('idempotent-replayed');
const costOf = ({ headers }: Answer): number => Number(headers.get('x-tollgate-credits'));
/** The request that bought the answer: that of the answer itself, or the one that is replayed. */
const boughtBy = ({ body }: Answer): string => String(body['id']).replace(/^chatcmpl-/, 'req_');

const chats = new Map<string, SentChat>();
const tries: Try[] = [];

/** A client sends one chat after the other, and begins again after its last one. */
async function runClient(plan: readonly RandomChat[], index: number, isOver: () => boolean): Promise<void> {
  for (let n = 0; !isOver(); n++) {
    const sent: SentChat = { ...plan[n % plan.length]!, text: `client ${index}, chat ${n}` };
    chats.set(sent.text, sent);
    const { apiKey } = keys[sent.key];
    const sentAt = performance.now();
    const answer = await ask(sent, { apiKey, baseUrl: apis[sent.apiIndex]!.baseUrl }).catch((error: unknown) => {
      if (wasNotSent(error)) return undefined;
      return null;
    });
    if (answer !== undefined) tries.push({ chat: sent, sentAt, answeredAt: performance.now(), answer });
    if (answer?.status === 200) model.charge(keys[sent.key], costOf(answer));
    // A refused client waits a little, so that the refusals are not most of the load.
    else await sleep(100);
  }
}

/** Kills the API servers of these places together, and replaces them. */
async function killAndReplace(apiIndexes: readonly number[], open: ServedChats['open']): Promise<void> {
  // So that the kill cuts off a chat that holds credits.
  const isCalling = () => [...open].some(({ apiIndex }) => apiIndexes.includes(apiIndex));
  while (!isCalling()) await sleep(1);
  await Promise.all(apiIndexes.map((apiIndex) => gateway.kill(apis[apiIndex]!.name)));
  expect(await gateway.verifyLedger()).toMatchObject({ ok: true });
  await Promise.all(apiIndexes.map(async (apiIndex) => void (apis[apiIndex] = await gateway.startApi())));
  await buy(keys.scarce.projectId, scarceCredits);
  await giveAndTake();
}

/** Adds a grant that ends soon to the rich account, and deducts credits from it. */
async function giveAndTake(): Promise<void> {
  const { projectId } = keys.rated;
  const reference = `given at try ${tries.length}`;
  const about = { projectId, reference, actor: 'test' };
  model.buy(projectId, grant.credits - deducted);
  const expiresAt = new Date(Date.now() + grant.seconds * 1_000);
  await addCredits({ db: gateway.database }, { ...about, amount: grant.credits, expiresAt });
  await deductCredits({ db: gateway.database }, { ...about, amount: deducted, reason: 'charged back' });
}

/** Ends every grant and returns what left the account of a project. Expects that each grant was spent or left, to the credit. */
async function endGrants(projectId: string): Promise<number> {
  await eventually(
    async () => {
      await endDueGrants(gateway.database);
      return (
        (await gateway.database.query('test-open-grants', 'select from credit_grant where not is_closed')).length === 0
      );
    },
    { what: 'the end of every grant' },
  );
  const grants = await gateway.database.query<{ amount: number; spent: number; absorbed: number; expired: number }>(
    'test-grants',
    'select amount, spent, absorbed, expired from credit_grant where project_id = $1',
    [projectId],
  );
  expect(grants.length).toBeGreaterThan(0);
  for (const { amount, spent, absorbed, expired } of grants) expect(spent + absorbed + expired).toBe(amount);
  return grants.reduce((sum, { expired }) => sum + expired, 0);
}

async function buy(projectId: string, credits: number): Promise<void> {
  model.buy(projectId, credits);
  await gateway.addCredits(projectId, credits);
}

/** Sends a chat that was cut off again with its Idempotency-Key, until its first request has ended. */
const askAgain = (sent: SentChat, apiIndex: number): Promise<Answer> =>
  eventually(async () => {
    const apiKey = spareKeys.get(keys[sent.key].projectId) ?? '';
    const answer = await ask(sent, { apiKey, baseUrl: apis[apiIndex]!.baseUrl });
    return verdictOf(answer) !== '409 idempotency_in_progress' && answer;
  });

const entriesOfRun = (): Promise<Entry[]> =>
  gateway.database.query<Entry>(
    'test-entries-of-run',
    `select project_id, key_id, request_id, kind, credits, held, (extract(epoch from began_at) * 1e6)::float8 as began_at,
       (extract(epoch from created_at) * 1e6)::float8 as ended_at
     from ledger_entry order by id`,
  );

const heldNow = async (): Promise<number> => (await gateway.database.query('test-held', 'select from hold')).length;

/** The number of chats that no process ended. */
async function expiredHolds(): Promise<number> {
  const rows = await gateway.database.query(
    'test-expired',
    `select from attempt where outcome = 'unknown' and error_class = 'deadline'`,
  );
  return rows.length;
}

/** Lets the clients ask while API servers are killed, and then lets every chat end. Returns the answers of the retries by text. */
async function runToTheEnd({ open }: ServedChats): Promise<Map<string, Answer>> {
  const [run] = fc.sample(anyRun, { seed, numRuns: 1 });
  let isOver = false;
  const clients = Promise.all(run!.clients.map((plan, index) => runClient(plan, index, () => isOver)));
  try {
    for (const { apiIndexes, afterTries } of run!.kills) {
      const goal = tries.length + afterTries;
      await Promise.race([clients, eventually(() => Promise.resolve(tries.length >= goal), { secondsMax: 120 })]);
      await killAndReplace(apiIndexes, open);
    }
  } finally {
    isOver = true;
    await clients;
  }
  // No retry may be refused for want of credits.
  await buy(keys.scarce.projectId, richCredits);
  const retries = tries
    .filter(({ answer, chat: { isIdempotent } }) => answer === null && isIdempotent)
    .map(async ({ chat: sent }): Promise<[string, Answer]> => {
      const answer = await askAgain(sent, 0);
      if (answer.status === 200) {
        const replay = await askAgain(sent, 1);
        expect([replay.status, isReplay(replay), replay.body]).toEqual([200, true, answer.body]);
      }
      return [sent.text, answer];
    });
  const retried = new Map(await Promise.all(retries));
  await eventually(async () => (await heldNow()) === 0, { what: 'the end of every hold' });
  return retried;
}

/** Expects that each chat cost what its answer says, once, and nothing without an answer. A chat that was cut off may have cost its hold. */
function expectCharged(
  entries: readonly Entry[],
  called: Map<string, Set<string>>,
  retried: Map<string, Answer>,
): void {
  const settled = Map.groupBy(
    entries.filter(({ kind }) => kind === 'settle'),
    ({ requestId }) => requestId ?? '',
  );
  for (const { chat: sent, answer } of tries) {
    const retry = retried.get(sent.text);
    const answers = [answer, retry].filter((one) => one !== null && one !== undefined);
    const requestIds = new Set([...(called.get(sent.text) ?? []), ...answers.map(requestIdOf)]);
    const charges = [...requestIds].flatMap((id) => settled.get(id) ?? []);
    for (const id of requestIds) settled.delete(id);
    const delivered = answers.find(({ status }) => status === 200);
    if (delivered) expect(charges).toMatchObject([{ requestId: boughtBy(delivered), credits: -costOf(delivered) }]);
    else expect(charges.length).toBeLessThanOrEqual(answers.length === 0 ? 1 : 0);
    for (const { projectId, keyId, credits, held } of charges) {
      expect(-credits).toBeLessThanOrEqual(held ?? 0);
      const key = Object.values(keys).find((one) => one.keyId === keyId) ?? { projectId, keyId: keyId ?? '' };
      if (answer === null) model.charge(key, -credits);
    }
  }
  expect([...settled.keys()]).toEqual([]);
}

/** Expects that no limit was exceeded at any time, by the clock of the database and by that of the clients. */
function expectWithinLimits(entries: readonly Entry[], called: Map<string, Set<string>>): void {
  const of = ({ keyId }: RunKey) => entries.filter((entry) => entry.keyId === keyId);
  for (const { projectId } of [keys.scarce, keys.rated])
    expect(highest(takingsOf(entries.filter((entry) => entry.projectId === projectId)))).toBeLessThanOrEqual(0);
  expect(highest(takingsOf(of(keys.budgeted)))).toBeLessThanOrEqual(limits.budget);
  expect(highest(runningOf(of(keys.narrow)))).toBe(limits.inFlightMax);
  const sentAt = new Map(
    tries.flatMap((one) => {
      const ids = [...(called.get(one.chat.text) ?? []), ...(one.answer ? [requestIdOf(one.answer)] : [])];
      return ids.map((id): [string, number] => [id, performance.timeOrigin + one.sentAt]);
    }),
  );
  // A request is counted between the client's sending and the writing of its hold, which a slow machine does a few seconds later. If
  // neither the provider nor an answer tells the id of a chat, that chat counts from five seconds before its hold. The clocks may differ by a second.
  const begun = of(keys.rated).flatMap(({ requestId, beganAt }) => {
    if (beganAt === null) return [];
    const to = beganAt / 1_000;
    return [{ from: sentAt.get(requestId ?? '') ?? to - 5_000, to }];
  });
  expect(mostWithin(59_000, begun)).toBeLessThanOrEqual(limits.rpm);
  const answered = tries.filter(({ chat: { key }, answer }) => key === 'rated' && answer?.status === 200);
  const seen = answered.map(({ sentAt, answeredAt }) => ({ from: sentAt, to: answeredAt }));
  expect(mostWithin(60_000, seen)).toBeLessThanOrEqual(limits.rpm);
}

/** Expects that the run was near each limit, and that the kills cut off requests, some of which held credits. */
async function expectEventful(): Promise<void> {
  expect(Object.keys(countVerdicts(tries.flatMap(({ answer }) => answer ?? [])))).toEqual(
    expect.arrayContaining([
      '200',
      '402 insufficient_credits',
      '402 key_budget_exceeded',
      '429 rate_limit_exceeded',
      '429 concurrency_limit_exceeded',
    ]),
  );
  expect(tries.filter(({ answer }) => answer === null)).not.toEqual([]);
  expect(await expiredHolds()).toBeGreaterThan(0);
}

async function runAndCompare(): Promise<void> {
  const served = serveChats(upstream, (text) => chats.get(text)!);
  const retried = await runToTheEnd(served);
  const expired = await endGrants(keys.rated.projectId);
  expect(await gateway.verifyLedger()).toMatchObject({ ok: true });
  const entries = await entriesOfRun();
  expectCharged(entries, served.called, retried);
  expectWithinLimits(entries, served.called);
  for (const { projectId } of [keys.scarce, keys.rated])
    expect(await accountOf(gateway.database, projectId)).toEqual({
      balance: model.balance(projectId) - (projectId === keys.rated.projectId ? expired : 0),
      reserved: 0,
    });
  for (const { keyId } of Object.values(keys))
    expect(await keyFacts(gateway, keyId)).toEqual({ spent: model.spent(keyId), reserved: 0, inFlight: 0 });
  await expectEventful();
}

describe('three API servers that are killed at random', () => {
  it('never exceed a balance, a budget, a rate or an in-flight limit, and charge each delivered answer once', async () => {
    await runAndCompare().catch((cause: unknown) => {
      throw new Error(`The run with the seed ${seed} failed`, { cause });
    });
  });
});
