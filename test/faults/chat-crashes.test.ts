import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { verifyLedger } from '../../src/db/ledger/verify-ledger.ts';
import type { Answer } from '../support/api-client.ts';
import { ownPostgres, type OwnServer } from './own-servers.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { accountOf } from '../support/rows.ts';
import {
  all,
  chat,
  chatFacts,
  countVerdicts,
  requestIdOf,
  tenCredits,
  usageOfFive,
  verdictOf,
} from '../services/chat/chats.ts';
import { letModelsStream, streamFromEach } from '../services/chat/streams.ts';
import { within } from '../services/chat/within.ts';

let postgres: OwnServer;
let gateway: Gateway;
/** The lifetime of a hold. A sweep runs every second. */
const holdSeconds = 16;

beforeAll(async () => {
  postgres = await ownPostgres();
  gateway = await startGateway({
    apis: 2,
    env: {
      CHAT_DEADLINE_SECONDS: String(holdSeconds - 1),
      CHAT_HOLD_EXTRA_SECONDS: '1',
      CHAT_ATTEMPT_LEFT_MIN_SECONDS: '1',
    },
  });
  await letModelsStream(gateway, (await gateway.project()).apiKey);
});
afterAll(async () => {
  await gateway?.stop();
  await postgres?.close();
});

/** A hold may outlive its expiry by one sweep, which is slow on a busy machine. */
const sweepGraceSeconds = 10;

/** The time limits for the database that production has. */
const limitsOfProduction = { DATABASE_CONNECT_TIMEOUT_MS: '1000', DATABASE_STATEMENT_TIMEOUT_MS: '3000' };

const brokenInvariants = async (graceSeconds: number): Promise<string[]> => {
  const { invariants } = await verifyLedger(gateway.database, graceSeconds);
  return Object.entries(invariants).flatMap(([name, { breaches }]) => (breaches > 0 ? [name] : []));
};

const heldNow = async (): Promise<number> => {
  const [row] = await gateway.database.query<{ held: number }>(
    'test-held',
    `select count(*)::float8 as held from reservation where state = 'held'`,
  );
  return row?.held ?? 0;
};

/** Expects that every answered chat is charged and that the account matches the settled credits. */
async function expectAnsweredCharged(projectId: string, credits: number, answered: Answer[]): Promise<void> {
  for (const answer of answered)
    expect(await chatFacts(gateway, requestIdOf(answer))).toMatchObject({ state: 'settled', settledAmount: 5 });
  const [row] = await gateway.database.query<{ settled: number }>(
    'test-settled',
    `select coalesce(sum(settled_amount), 0)::bigint as settled from reservation where project_id = $1`,
    [projectId],
  );
  const settled = row?.settled ?? 0;
  expect(settled).toBeGreaterThanOrEqual(answered.length * 5);
  expect(await accountOf(gateway.database, projectId)).toEqual({ balance: credits - settled, reserved: 0 });
}

describe('an API server that is killed under chat load', () => {
  it('leaves every hold to the next sweep after its expiry, keeps the ledger consistent and charges every answer', async () => {
    const { projectId, apiKey } = await gateway.project({ credits: 100_000 });
    const [first = '', second = ''] = gateway.baseUrls;
    const [doomed, other] = first === gateway.baseUrl ? [first, second] : [second, first];
    const answered: Answer[] = [];
    let going = true;
    const ask = (text: string, baseUrl: string | undefined): Promise<Answer | null> =>
      chat(gateway, apiKey, text, { fields: tenCredits, baseUrl }).catch(() => null);
    const client = async (index: number): Promise<void> => {
      const baseUrl = index % 2 === 0 ? doomed : other;
      while (going) {
        const answer = await ask(`under load [[latency=300 ${usageOfFive}]]`, baseUrl);
        if (answer === null) return;
        answered.push(answer);
      }
    };
    const load = all(12, client);
    const broken: string[][] = [];
    try {
      await eventually(() => Promise.resolve(answered.length > 30));
      // This chat is in flight when its API server is killed.
      const caught = ask('in flight at the kill [[latency=6000]]', doomed);
      await eventually(async () => (await gateway.hits('in flight at the kill', 'chat')).length > 0);
      await gateway.kill('api-1');
      expect(await caught).toBeNull();
      expect(await heldNow()).toBeGreaterThan(0);
      for (let check = 0; check < 6; check++) {
        broken.push(await brokenInvariants(sweepGraceSeconds));
        await sleep(200);
      }
    } finally {
      going = false;
      await load;
    }
    expect(countVerdicts(answered)).toEqual({ 200: answered.length });
    await eventually(async () => (broken.push(await brokenInvariants(sweepGraceSeconds)), (await heldNow()) === 0), {
      secondsMax: holdSeconds + 50,
      what: 'the end of every hold',
    });
    expect(broken.flat()).toEqual([]);
    expect(await brokenInvariants(0)).toEqual([]);
    const [row] = await gateway.database.query<{ unknown: number; open: number }>(
      'test-unknown-attempts',
      `select count(*) filter (where outcome = 'unknown')::float8 as unknown,
         count(*) filter (where outcome is null)::float8 as open from attempt`,
    );
    expect(row?.unknown).toBeGreaterThan(0);
    expect(row?.open).toBe(0);
    await expectAnsweredCharged(projectId, 100_000, answered);
    await gateway.startApi();
  });
});

describe('an API server that is killed while it streams', () => {
  it('leaves the holds to the sweep after their expiry, which refunds them in full, from each family', async () => {
    const { projectId, apiKey } = await gateway.project({ credits: 1_000 });
    // All streams have begun and none has ended at the kill, also on a slow machine.
    const { name, baseUrl } = await gateway.startApi({ CHAT_DEADLINE_SECONDS: '60' });
    const streamed = await streamFromEach(
      gateway,
      apiKey,
      (model) => `${model} at the kill [[tokens=1200 rate=20]]`,
      () => gateway.kill(name),
      { baseUrl },
    );
    await gateway.database.query('test-expire', 'update hold set expires_at = clock_timestamp()');
    for (const each of streamed) {
      expect(each).toMatchObject({ finish: null, isDone: false });
      const facts = await eventually(
        async () => {
          const now = await chatFacts(gateway, each.requestId);
          return now?.state !== 'held' && now;
        },
        { secondsMax: holdSeconds + 50 },
      );
      expect(facts.state).toBe('refunded');
    }
    expect(await accountOf(gateway.database, projectId)).toEqual({ balance: 1_000, reserved: 0 });
    expect(await brokenInvariants(0)).toEqual([]);
  });
});

describe('a streamed chat whose settlement PostgreSQL does not take', () => {
  it('ends with an error event and is given back once PostgreSQL answers, from each family', async () => {
    const { projectId, apiKey } = await gateway.project({ credits: 1_000 });
    // All streams have begun and none has ended when PostgreSQL goes, also on a slow machine.
    const { name, baseUrl } = await gateway.startApi({ CHAT_DEADLINE_SECONDS: '30' });
    const streamed = await streamFromEach(
      gateway,
      apiKey,
      (model) => `${model} while PostgreSQL goes [[tokens=60 rate=5]]`,
      () => postgres.stop(),
      { baseUrl },
    );
    await postgres.start();
    for (const each of streamed) {
      expect(each).toMatchObject({ finish: 'error', error: 'service_unavailable', isDone: false });
      expect(each.text.split(' ')).toHaveLength(60);
    }
    await eventually(async () => (await accountOf(gateway.database, projectId).catch(() => null))?.reserved === 0, {
      secondsMax: 90,
      what: 'the end of the holds',
    });
    await gateway.kill(name);
    expect(await accountOf(gateway.database, projectId)).toEqual({ balance: 1_000, reserved: 0 });
    expect(await brokenInvariants(0)).toEqual([]);
  });
});

describe('while PostgreSQL does not answer', () => {
  let baseUrl: string;
  beforeAll(async () => {
    ({ baseUrl } = await gateway.startApi(limitsOfProduction));
  });

  it.each([
    ['stopped', () => postgres.stop(), () => postgres.start()],
    ['frozen', () => Promise.resolve(postgres.signal('SIGSTOP')), () => Promise.resolve(postgres.signal('SIGCONT'))],
  ])(
    // On a machine that is not busy, in half of these times.
    'a chat gets 503 with Retry-After within ten seconds while it is %s, and 200 within twenty seconds after',
    async (_state, takeAway, bringBack) => {
      const { projectId, apiKey } = await gateway.project({ credits: 1_000 });
      const uncached = await gateway.project({ credits: 1_000, rpm: 100 });
      const ask = (key: string, text: string) => chat(gateway, key, text, { baseUrl, fields: tenCredits });
      const text = `through the restart [[${usageOfFive}]]`;
      const untilAnswered = () =>
        eventually(
          async () => {
            const answer = await ask(apiKey, text);
            return answer.status === 200 && answer;
          },
          { secondsMax: 90, what: 'the gateway' },
        );
      // A busy machine may need longer for a first connection than production gives it.
      const answered = [await untilAnswered()];
      await takeAway();
      // The API server has one key in its cache and must query the database for the other.
      const refused = await all(12, (index) => within(10, ask(index % 2 === 0 ? apiKey : uncached.apiKey, 'refused')));
      for (const answer of refused) {
        expect(verdictOf(answer)).toBe('503 service_unavailable');
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      }
      await bringBack();
      answered.push(await within(20, untilAnswered()));
      expect(await gateway.hits('refused', 'chat')).toEqual([]);
      // A frozen server may run pending statements when it resumes. A sweep refunds such a hold.
      await eventually(async () => (await heldNow()) === 0, { secondsMax: holdSeconds + 50 });
      expect(await brokenInvariants(0)).toEqual([]);
      await expectAnsweredCharged(projectId, 1_000, answered);
    },
  );

  it('a running chat is either answered and charged or refused and refunded', async () => {
    const { projectId, apiKey } = await gateway.project({ credits: 1_000 });
    // With the patience of a busy machine, because every chat must have reached its provider.
    const patient = gateway.baseUrls.find((url) => url !== gateway.baseUrl);
    const chats = all(10, (index) =>
      chat(gateway, apiKey, `caught in between [[latency=${500 + index * 200} ${usageOfFive}]]`, {
        baseUrl: patient,
        fields: tenCredits,
      }),
    );
    await eventually(async () => (await gateway.hits('caught in between', 'chat')).length === 10);
    await postgres.stop();
    await postgres.start();
    const answers = await chats;
    for (const answer of answers)
      if (answer.status !== 200) {
        expect(verdictOf(answer)).toBe('503 service_unavailable');
        expect(answer.headers.get('x-should-retry')).toBe('false');
      }
    await eventually(async () => (await heldNow()) === 0, { secondsMax: holdSeconds + 50 });
    expect(await brokenInvariants(0)).toEqual([]);
    await expectAnsweredCharged(
      projectId,
      1_000,
      answers.filter(({ status }) => status === 200),
    );
  });
});
