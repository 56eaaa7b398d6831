import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chat, chatFacts, keyFacts, requestIdOf, tenCredits, verdictOf } from '../commands/chat/chats.ts';
import { startCuttingProxy, type CuttingProxy } from '../db/cutting-proxy.ts';
import type { Answer } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import type { Gateway } from '../support/gateway.ts';
import { accountOf, entriesOf } from '../support/rows.ts';

let gateway: Gateway;
let proxy: CuttingProxy;
/** An API server that reaches PostgreSQL only through the proxy. */
let cut: { name: string; baseUrl: string };

/** Tests of chats whose settlement is not acknowledged. */
export const describeLostSettlement = (started: () => Gateway): void =>
  describe('lost settlements', () => {
    beforeAll(async () => {
      gateway = started();
      const url = new URL(gateway.databaseUrl);
      proxy = await startCuttingProxy(Number(url.port));
      url.port = String(proxy.port);
      cut = await gateway.startApi({ DATABASE_URL: url.href });
    });
    afterAll(async () => {
      await gateway.kill(cut.name);
      await proxy.close();
    });
    afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

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

/** Sends a chat that costs ten credits. Its settlement commits, and then its API server loses PostgreSQL until `resume`. */
async function chatWithLostSettlement(apiKey: string, headers: Record<string, string> = {}) {
  const resume = proxy.cutOffAfter('end_chats');
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
