import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  chat,
  chatFacts,
  keyFacts,
  quickRecovery,
  requestIdOf,
  tenCredits,
  verdictOf,
} from '../services/chat/chats.ts';
import { letModelsStream, stream, streamedModels } from '../services/chat/streams.ts';
import { startCuttingProxy, type CuttingProxy } from '../db/cutting-proxy.ts';
import type { Answer } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { accountOf, entriesOf } from '../support/rows.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ workers: 0, env: quickRecovery });
});
afterAll(() => gateway?.stop());

let proxy: CuttingProxy;
/** An API server that reaches PostgreSQL only through the proxy. */
let cut: { name: string; baseUrl: string };
/** The same with the usual life of a hold. */
let patient: { name: string; baseUrl: string };

/** Tests of chats whose settlement is not acknowledged. */
describe('lost settlements', () => {
  beforeAll(async () => {
    const url = new URL(gateway.databaseUrl);
    proxy = await startCuttingProxy(Number(url.port));
    url.port = String(proxy.port);
    // The shortest time for which a settlement is repeated.
    cut = await gateway.startApi({ DATABASE_URL: url.href, CHAT_HOLD_EXTRA_SECONDS: '1' });
    patient = await gateway.startApi({ DATABASE_URL: url.href });
    const { apiKey } = await gateway.project();
    // Earlier tests of this gateway have ended API servers.
    await letModelsStream({ ...gateway, baseUrls: [cut.baseUrl, patient.baseUrl] }, apiKey);
  });
  afterAll(async () => {
    await Promise.all([cut, patient].map(({ name }) => gateway.kill(name)));
    await proxy.close();
  });
  afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

  it('chats whose provider has answered are answered and charged when PostgreSQL is back, whole and streamed', async () => {
    const { projectId, apiKey } = await gateway.project({ credits: 1_000 });
    const { baseUrl } = patient;
    const models = Object.values(streamedModels);
    const text = 'answered in an outage [[latency=2000 usage=200,1200]]';
    const streamed = models.map((model) => stream(gateway, apiKey, { model, text }, { baseUrl }));
    const whole = models.map((model) => chat(gateway, apiKey, text, { baseUrl, fields: { model, ...tenCredits } }));
    const long = chat(gateway, apiKey, text, { baseUrl, fields: { max_tokens: 8_000 } });
    const count = 2 * models.length + 1;
    await eventually(async () => (await gateway.hits('answered in an outage', 'chat')).length === count);
    const resume = proxy.cutOff();
    // Longer than a settlement was repeated once.
    await sleep(outageMs);
    resume();
    const answers = await Promise.all([...whole, long]);
    expect(answers.map(verdictOf)).toEqual(answers.map(() => '200'));
    const streams = await Promise.all(streamed);
    expect(streams).toMatchObject(streams.map(() => ({ error: null, isDone: true })));
    const charged = [
      ...answers.map(({ headers }) => Number(headers.get('x-tollgate-credits'))),
      ...streams.map(({ cost }) => cost?.credits ?? 0),
    ];
    expect(charged.every((credits) => credits > 0)).toBe(true);
    const balance = 1_000 - charged.reduce((sum, credits) => sum + credits, 0);
    expect(await accountOf(gateway.database, projectId)).toEqual({ balance, reserved: 0 });
  });

  describe('a chat whose settlement was committed but never acknowledged', () => {
    it('is given back once when the database answers again, and its idempotency key is free', async () => {
      const { projectId, apiKey, keyId } = await gateway.project({ credits: 100 });
      const headers = { 'idempotency-key': 'unacknowledged' };
      const { answer, resume } = await chatWithLostSettlement(apiKey, headers);
      resume();
      await whenFollowedUp(answer);
      expect(await entriesFor(answer)).toEqual({ settle: 1, adjust: 1 });
      expect(await accountOf(gateway.database, projectId)).toEqual({ balance: 100, reserved: 0 });
      expect(await keyFacts(gateway, keyId)).toEqual({ spent: 0, reserved: 0, inFlight: 0 });

      const again = await chat(gateway, apiKey, 'lost settlement [[usage=200,1200]]', {
        fields: tenCredits,
        headers,
      });
      expect([again.status, again.headers.has('idempotent-replayed')]).toEqual([200, false]);
      expect(await accountOf(gateway.database, projectId)).toEqual({ balance: 90, reserved: 0 });
    });

    it('stays charged if a retry with its idempotency key has received the answer', async () => {
      const { projectId, apiKey } = await gateway.project({ credits: 100 });
      const headers = { 'idempotency-key': 'replayed meanwhile' };
      const { answer, resume } = await chatWithLostSettlement(apiKey, headers);
      const replay = await chat(gateway, apiKey, 'lost settlement [[usage=200,1200]]', {
        fields: tenCredits,
        headers,
      });
      expect([replay.status, replay.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
      resume();
      await whenFollowedUp(answer);
      expect(await entriesFor(answer)).toEqual({ settle: 1 });
      expect(await accountOf(gateway.database, projectId)).toEqual({ balance: 90, reserved: 0 });
    });
  });
});
const outageMs = 8_000;

/** Sends a chat that costs ten credits. Its settlement commits, and then its API server loses PostgreSQL until `resume`. */
async function chatWithLostSettlement(apiKey: string, headers: Record<string, string> = {}) {
  const resume = proxy.cutOffAfter('finish_chats');
  const text = `lost settlement [[usage=200,1200]]`;
  const answer = await chat(gateway, apiKey, text, { baseUrl: cut.baseUrl, fields: tenCredits, headers });
  expect(verdictOf(answer)).toBe('503 service_unavailable');
  expect(answer.headers.get('x-should-retry')).toBe('false');
  expect(await chatFacts(gateway, requestIdOf(answer))).toMatchObject({ state: 'settled', settledAmount: 10 });
  return { answer, resume };
}

const entriesFor = (answer: Answer) => entriesOf(gateway.database, requestIdOf(answer));
/** Resolves when the API server has learned what became of the settlement. */
const whenFollowedUp = (answer: Answer) =>
  eventually(async () => {
    const log = await readFile(join(gateway.logFolder, `${cut.name}.log`), 'utf8');
    return log.split('\n').some((line) => line.includes('is known') && line.includes(requestIdOf(answer)));
  });
