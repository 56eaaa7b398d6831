import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadCatalog } from '../../../src/services/catalog/load-catalog.ts';
import { chatCost } from '../../../src/domain/catalog/upstream-cost.ts';
import { createSealer } from '../../../src/platform/crypto/seal.ts';
import { allocatedBytes, countingGarbage } from '../../support/allocated-bytes.ts';
import type { Answer } from '../../support/api-client.ts';
import { eventually } from '../../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../../support/gateway.ts';
import { accountOf, attemptsOf, countRows, entriesOf } from '../../support/rows.ts';
import {
  all,
  chat,
  chatBody,
  chatFacts,
  chatModel,
  chatRoute,
  contentOf,
  countVerdicts,
  endReasonOf,
  keyFacts,
  requestIdOf,
  tenCredits,
  verdictOf,
  quickRecovery,
} from './chats.ts';
import { heldModel, openHeldChannel, type HeldChannel } from './held-channel.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ workers: 0, env: quickRecovery });
});
afterAll(() => gateway?.stop());

let project: TestProject;
let held: HeldChannel;

/** What the operator pays for a chat, in micro-USD. */
const costOf = async (answer: Answer): Promise<number> => {
  const [row] = await gateway.database.query<{ cost: number }>(
    'test-chat-cost',
    'select cost_micro_usd::float8 as cost from ledger_entry where request_id = $1',
    [requestIdOf(answer)],
  );
  return row?.cost ?? NaN;
};

/** Tests of chats from the hold to the settlement. A channel that fails must be available again immediately. */
describe('completeChat', () => {
  beforeAll(async () => {
    project = await gateway.project({ credits: 10_000 });
    held = await openHeldChannel(gateway);
  });
  afterAll(async () => {
    await held?.close();
  });
  afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

  describe('a chat', () => {
    it('returns an OpenAI completion with our id, and its price is reported, charged and recorded', async () => {
      const { projectId, apiKey } = await gateway.project({ credits: 50 });
      const answer = await chat(gateway, apiKey, 'priced [[usage=100,600]]', { fields: tenCredits });
      expect(answer).toMatchObject({
        status: 200,
        body: {
          id: `chatcmpl-${requestIdOf(answer).replace('req_', '')}`,
          object: 'chat.completion',
          created: expect.any(Number),
          model: 'gpt-5-mini',
          choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant' } }],
          usage: { prompt_tokens: 100, completion_tokens: 600, total_tokens: 700 },
        },
      });
      expect(contentOf(answer)).toBe('Sandbox answer to: priced');
      expect(answer.headers.get('x-tollgate-credits')).toBe('5');
      expect(answer.headers.get('x-tollgate-attempts')).toBe('1');
      expect(await factsOf(answer)).toEqual({
        state: 'settled',
        amount: 10,
        settledAmount: 5,
        inputTokens: 100,
        outputTokens: 600,
        usageEstimated: false,
      });
      expect(await accountOf(gateway.database, projectId)).toEqual({ balance: 45, reserved: 0 });
      expect(await attemptsFor(answer)).toMatchObject([{ n: 1, outcome: 'ok' }]);
    });

    it('whose answer has no usage is estimated and flagged, and negative token counts count as zero', async () => {
      const unreported = await ask('unreported [[usage=none]]', { fields: tenCredits });
      expect(await factsOf(unreported)).toMatchObject({ state: 'settled', settledAmount: 1, usageEstimated: true });
      expect(unreported.body['usage']).toMatchObject({ prompt_tokens: expect.any(Number) });
      const negative = await ask('negative [[usage=-5000,600]]', { fields: tenCredits });
      expect(await factsOf(negative)).toMatchObject({ settledAmount: 5, inputTokens: 0, outputTokens: 600 });
      const all = await ask('negative [[usage=-5,-5]]', { fields: tenCredits });
      expect(await factsOf(all)).toMatchObject({
        state: 'settled',
        settledAmount: 1,
        inputTokens: 0,
        outputTokens: 0,
      });
    });

    it('that uses more than its hold is charged the hold, and the difference is logged', async () => {
      const answer = await ask('greedy [[usage=100000,100000]]', { fields: tenCredits });
      expect(answer.headers.get('x-tollgate-credits')).toBe('10');
      expect(await factsOf(answer)).toMatchObject({ amount: 10, settledAmount: 10 });
      await eventually(async () => (await apiLog()).includes('"credits_undercharged":990'));
    });

    it('costs the operator less for cached input, and for an empty answer what the provider charges', async () => {
      const { entries } = await loadCatalog('test/support/catalog');
      const mapping = entries.find(({ model }) => model.id === heldModel.model)?.private.upstream['openai'];
      if (!mapping) throw new Error('the catalog has no such mapping');
      const usage = { prompt_tokens: 2_000, completion_tokens: 50, prompt_tokens_details: { cached_tokens: 1_900 } };
      const tokens = { input: 2_000, output: 50, cached: 1_900, cacheWrite: 0, cacheWrite1h: 0, reasoning: 0 };
      held.reports(usage);
      const cached = await ask('cached', { fields: heldModel });
      held.reports({ ...usage, prompt_tokens_details: undefined });
      const fresh = await ask('fresh', { fields: heldModel });
      held.reports();
      expect([await costOf(cached), await costOf(fresh)]).toEqual([
        chatCost(mapping.cost, tokens),
        chatCost(mapping.cost, { ...tokens, cached: 0 }),
      ]);
      expect(await costOf(cached)).toBeLessThan(await costOf(fresh));

      const empty = await ask('empty [[fail=no_output usage=50000,0]]');
      expect(empty.headers.get('x-tollgate-credits')).toBe('0');
      expect(await costOf(empty)).toBeGreaterThan(0);
    });

    it('with an empty answer costs nothing, unless the provider reports output tokens', async () => {
      const empty = await ask('empty [[fail=no_output usage=50,0]]', { fields: tenCredits });
      expect(verdictOf(empty)).toBe('200');
      expect(empty.headers.get('x-tollgate-credits')).toBe('0');
      expect(await factsOf(empty)).toMatchObject({ state: 'settled', settledAmount: 0 });
      const thinking = await ask('thinking [[fail=no_output usage=100,600]]', { fields: tenCredits });
      expect(await factsOf(thinking)).toMatchObject({ state: 'settled', settledAmount: 5 });
    });

    it('that is only thoughts is cut, is charged by its usage, and says so', async () => {
      const thinking = await ask('deep [[thoughts=64]]', { fields: { ...tenCredits, max_tokens: 64 } });
      expect(verdictOf(thinking)).toBe('200');
      expect(thinking.body).toMatchObject({
        choices: [{ finish_reason: 'length', message: { content: '' } }],
        usage: { completion_tokens: 64, completion_tokens_details: { reasoning_tokens: 64 } },
        tollgate: { warning: expect.stringContaining('wrote no text') },
      });
      expect((await factsOf(thinking))?.settledAmount ?? 0).toBeGreaterThan(0);
      expect((await ask('shallow')).body).not.toHaveProperty('tollgate');
    });

    it('says which parameters of the client its model was not sent', async () => {
      const fields = { model: 'gpt-5-mini', temperature: 0.2, stop: ['END'] };
      const warning = expect.stringContaining('does not take temperature and stop in this request');
      const answer = await ask('sampled', { fields });
      expect(answer.body).toMatchObject({ choices: [{ finish_reason: 'stop' }], tollgate: { warning } });
      expect((await ask('not sampled', { fields: { model: 'gpt-5-mini' } })).body).not.toHaveProperty('tollgate');
    });

    it('whose client disconnects is still settled', async () => {
      const { projectId, apiKey } = await gateway.project({ credits: 100 });
      const gone = new AbortController();
      const letGo = held.hold();
      const pending = fetch(`${gateway.baseUrl}${chatRoute}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify(chatBody('hung up', heldModel)),
        signal: gone.signal,
      });
      const refused = expect(pending).rejects.toThrow();
      await held.holds(1);
      gone.abort();
      await refused;
      // The gateway has noticed the disconnect.
      await eventually(async () => (await apiLog()).includes('"status":499'));
      letGo();
      await eventually(async () => (await accountOf(gateway.database, projectId)).reserved === 0);
      expect(await accountOf(gateway.database, projectId)).toEqual({ balance: 99, reserved: 0 });
    });
  });

  describe('a hold', () => {
    const sql = (name: string, text: string, values: unknown[] = []) =>
      gateway.database.query<Record<string, string>>(`test-hold-${name}`, text, values);

    it('that expired and was refunded before the answer arrived makes the request end with 503 and no answer', async () => {
      const letGo = held.hold();
      const pending = ask('came late', { fields: heldModel });
      await held.holds(1);
      await sql(
        'expire',
        `update hold set expires_at = clock_timestamp() - interval '1 second' where project_id = $1`,
        [project.projectId],
      );
      await sql('sweep', 'select expire_chats(10)::text');
      letGo();
      const answer = await pending;
      expect(verdictOf(answer)).toBe('503 service_unavailable');
      expect(answer.headers.get('x-should-retry')).toBe('false');
      expect(answer.headers.get('x-tollgate-credits')).toBeNull();
      await expectRefunded(answer);
      expect(await endReasonOf(gateway, requestIdOf(answer))).toBe('hold_expired');
    });

    it('is refunded together with the place in flight and the idempotency key if an internal error ends the chat', async () => {
      await sql(
        'break',
        `create function out_of_order() returns trigger language plpgsql as $$ begin raise 'out of order'; end $$`,
      );
      await sql(
        'second-attempts',
        'create trigger out_of_order before insert on attempt for each row when (new.n > 1) execute function out_of_order()',
      );
      try {
        const answer = await ask('internal error [[fail=transient]]', {
          headers: { 'idempotency-key': 'internal-error' },
        });
        expect(answer.status).toBe(500);
        // The answer waits for the refund only for a limited time.
        await eventually(async () => (await factsOf(answer))?.state === 'refunded');
        await expectRefunded(answer);
        expect(await endReasonOf(gateway, requestIdOf(answer))).toBe('internal_error');
        expect((await attemptsFor(answer)).map(({ outcome }) => outcome)).toEqual(['transient']);
        expect(await keyFacts(gateway, project.keyId)).toMatchObject({ reserved: 0, inFlight: 0 });
        expect(await sql('key', 'select key from idempotency where key = $1', ['internal-error'])).toEqual([]);
      } finally {
        await sql('repair', 'drop function out_of_order cascade');
      }
    });
  });

  describe('a channel whose credential was sealed with a missing master key', () => {
    const sql = (name: string, text: string, values: unknown[] = []) =>
      gateway.database.query<Record<string, string>>(`test-sealed-${name}`, text, values);
    const sealForeign = (names: string) => {
      const foreign = createSealer([{ id: 'm9', secret: Buffer.alloc(32, 9) }]);
      return sql('seal', 'update channel set credential = $1 where name like $2', [
        foreign.seal('key', 'channel|credential|chn_elsewhere'),
        names,
      ]);
    };

    it('is skipped with an alarm and costs no attempt; if all channels are such, the answer is 503 and nothing is held', async () => {
      const channels = await sql('channels', 'select id, credential from channel');
      try {
        await sealForeign('sandbox-a%');
        await sealForeign('sandbox-b%');
        const answer = await eventually(async () => {
          const last = await ask('foreign credential');
          const [attempt] = await attemptsFor(last);
          return attempt?.channelName === 'sandbox-c-openai' && last;
        });
        const more = [answer, ...(await all(20, () => ask('foreign credential')))];
        expect(countVerdicts(more)).toEqual({ 200: 21 });
        expect(more.map(({ headers }) => headers.get('x-tollgate-attempts'))).toEqual(more.map(() => '1'));
        const alarms = (await apiLog())
          .split('\n')
          .filter((line) => line.includes('"alarm":true') && line.includes('sandbox-a-openai'));
        expect(alarms.join()).toContain('the credential of a channel cannot be decrypted');

        await sealForeign('%');
        const refused = await eventually(async () => {
          const last = await ask('foreign credential');
          return last.status !== 200 && last;
        });
        expect(verdictOf(refused)).toBe('503 no_channel_available');
        expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
        expect(await factsOf(refused)).toBeUndefined();
      } finally {
        for (const { id, credential } of channels)
          await sql('repair', 'update channel set credential = $2 where id = $1', [id, credential]);
      }
      await eventually(async () => verdictOf(await ask('repaired')) === '200');
    });
  });

  describe('failover', () => {
    it('tries the next channel, records each call in its own row, and charges once', async () => {
      const answer = await ask(`failover ${failing('transient', 'sandbox-a', 'sandbox-b')} [[usage=100,600]]`, {
        fields: tenCredits,
      });
      expect(verdictOf(answer)).toBe('200');
      expect(answer.headers.get('x-tollgate-attempts')).toBe('3');
      const attempts = await attemptsFor(answer);
      expect(attempts.map(({ n, outcome }) => [n, outcome])).toEqual([
        [1, 'transient'],
        [2, 'transient'],
        [3, 'ok'],
      ]);
      expect(attempts[2]?.channelName).toBe('sandbox-c-openai');
      expect(new Set(attempts.map(({ channelName }) => channelName)).size).toBe(3);
      expect(await gateway.hits('failover', 'chat')).toHaveLength(3);
      expect(await factsOf(answer)).toMatchObject({ state: 'settled', settledAmount: 5 });
      expect(await entriesOf(gateway.database, requestIdOf(answer))).toEqual({ settle: 1 });
    });

    it.each([
      ['transient', 3, '502 upstream_error'],
      ['malformed', 3, '502 upstream_error'],
      ['empty', 3, '502 upstream_error'],
      ['auth', 3, '502 upstream_error'],
      ['reset', 2, '504 upstream_timeout'],
      ['refused', 1, '400 content_policy_violation'],
    ])(
      'with every channel failing by %s ends after %i calls with %s, and nothing is charged',
      async (kind, calls, verdict) => {
        const answer = await ask(`all fail, ${kind} [[fail=${kind}]]`);
        expect(verdictOf(answer)).toBe(verdict);
        expect(await attemptsFor(answer)).toHaveLength(calls);
        expect((await attemptsFor(answer)).filter(({ outcome }) => outcome === null)).toEqual([]);
        expect(await gateway.hits(`all fail, ${kind}`, 'chat')).toHaveLength(calls);
        expect(JSON.stringify(answer.body)).not.toMatch(/sandbox|127\.0\.0\.1/);
        await expectRefunded(answer);
      },
    );

    it('tries one other channel after an upstream did not answer in time, and ends with 504', async () => {
      const { name, baseUrl } = await gateway.startApi({ CHAT_ATTEMPT_TIMEOUT_SECONDS: '1' });
      const answer = await ask('silent [[fail=hang]]', { baseUrl });
      await gateway.kill(name, 'SIGTERM');
      expect(verdictOf(answer)).toBe('504 upstream_timeout');
      expect((await attemptsFor(answer)).map(({ errorClass }) => errorClass)).toEqual(['interrupted', 'interrupted']);
      await expectRefunded(answer);
    });
  });

  describe('an Idempotency-Key', () => {
    const keyed = (key: string) => ({ headers: { 'idempotency-key': key } });

    it('returns the stored answer unchanged and free of charge, and refuses another body with 422', async () => {
      const first = await ask('replayed', keyed('replay'));
      const calls = (await gateway.hits('replayed', 'chat')).length;
      const before = await countRows(gateway.database);
      const again = await ask('replayed', keyed('replay'));
      expect([again.status, again.body]).toEqual([200, first.body]);
      expect(again.headers.get('idempotent-replayed')).toBe('true');
      expect(first.headers.has('idempotent-replayed')).toBe(false);
      const other = await ask('replayed otherwise', keyed('replay'));
      expect(verdictOf(other)).toBe('422 idempotency_key_reused');
      expect(other.headers.get('x-should-retry')).toBe('false');
      expect(other.headers.has('x-tollgate-credits')).toBe(false);
      expect(await countRows(gateway.database)).toEqual(before);
      expect(await gateway.hits('replayed', 'chat')).toHaveLength(calls);
      const neighbour = await gateway.project();
      expect(
        (await chat(gateway, neighbour.apiKey, 'replayed', keyed('replay'))).headers.has('idempotent-replayed'),
      ).toBe(false);
    });

    it('returns with the stored answer the cost and the number of calls of the first request', async () => {
      const text = `repeated ${failing('transient', 'sandbox-a', 'sandbox-b')} [[usage=100,600]]`;
      const costOf = ({ headers }: Answer) => [headers.get('x-tollgate-credits'), headers.get('x-tollgate-attempts')];
      const first = await ask(text, { ...keyed('repeated'), fields: tenCredits });
      // A channel that an earlier test left cooling down is not called.
      const calls = (await gateway.hits('repeated', 'chat')).length;
      expect(calls).toBeGreaterThan(1);
      expect(costOf(first)).toEqual(['5', String(calls)]);
      const again = await ask(text, { ...keyed('repeated'), fields: tenCredits });
      expect([again.headers.get('idempotent-replayed'), ...costOf(again)]).toEqual(['true', '5', String(calls)]);

      const asGemini = () =>
        gateway.create(
          project.apiKey,
          `/api/v1beta/models/${chatModel}:generateContent`,
          { contents: [{ parts: [{ text: 'repeated in words of Gemini' }] }] },
          keyed('repeated'),
        );
      const gemini = await asGemini();
      const geminiAgain = await asGemini();
      expect(geminiAgain.headers.get('idempotent-replayed')).toBe('true');
      expect(costOf(geminiAgain)).toEqual(costOf(gemini));
      expect(costOf(gemini)).toEqual([expect.stringMatching(/^\d+$/), '1']);
    });

    it('lets one of eight concurrent requests pass and refuses the others with 409 while it runs', async () => {
      const letGo = held.hold();
      const racing = { ...keyed('race'), fields: heldModel };
      let answered = 0;
      const pending = all(8, () => ask('racing', racing).finally(() => (answered += 1)));
      await eventually(() => Promise.resolve(answered === 7));
      letGo();
      const answers = await pending;
      expect(countVerdicts(answers)).toEqual({ 200: 1, '409 idempotency_in_progress': 7 });
      for (const { status, headers } of answers)
        if (status === 409) expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect(held.chats()).toBe(1);
      expect((await ask('racing', racing)).headers.get('idempotent-replayed')).toBe('true');
    });

    it('is free again after a chat that failed, was refused, or was never valid', async () => {
      const text = 'second luck [[fail=transient times=3]]';
      expect(verdictOf(await ask(text, keyed('free')))).toBe('502 upstream_error');
      const second = await ask(text, keyed('free'));
      expect(verdictOf(second)).toBe('200');
      expect(second.headers.has('idempotent-replayed')).toBe(false);
      expect(verdictOf(await ask('never valid', { ...keyed('never'), fields: { temperature: 9 } }))).toBe(
        '400 invalid_value',
      );
      expect(verdictOf(await ask('never valid', keyed('never')))).toBe('200');
      const poor = await gateway.project({ credits: 0 });
      expect(verdictOf(await chat(gateway, poor.apiKey, 'poor', keyed('poor')))).toBe('402 insufficient_credits');
      await gateway.addCredits(poor.projectId, 20);
      expect(verdictOf(await chat(gateway, poor.apiKey, 'poor', keyed('poor')))).toBe('200');
    });

    it('whose answer was too large to store is refused with 409, and no upstream is called again', async () => {
      const tools = [{ type: 'function', function: { name: 'write' } }];
      const text = `too large [[tool=write args={"text":"${'x'.repeat(3_000)}"}]]`;
      const first = await ask(text, { ...keyed('large'), fields: { tools } });
      expect(verdictOf(first)).toBe('200');
      const again = await ask(text, { ...keyed('large'), fields: { tools } });
      expect(verdictOf(again)).toBe('409 idempotency_result_gone');
      expect(again.headers.get('x-should-retry')).toBe('false');
      expect(await gateway.hits('too large', 'chat')).toHaveLength(1);
    });

    it('stores answers encrypted', async () => {
      await ask('secret text', keyed('sealed'));
      const rows = await gateway.database.query<{ body: string }>(
        'test-sealed-bodies',
        'select body from idempotency where body is not null',
      );
      expect(rows.length).toBeGreaterThan(0);
      expect(JSON.stringify(rows)).not.toMatch(/Sandbox answer|secret text/);
    });
  });

  it('leaves at most half a megabyte of garbage', async () => {
    const file = join(gateway.logFolder, 'garbage');
    const { name, baseUrl } = await gateway.startApi(countingGarbage(file));
    const pid = gateway.pids()[name] ?? 0;
    const perChat: number[] = [];
    for (let slice = 0; slice < 8; slice++) {
      await allocatedBytes(pid, file);
      for (let n = 0; n < 25; n++)
        expect(verdictOf(await ask(`hello ${n}`, { baseUrl, fields: { max_tokens: 256 } }))).toBe('200');
      perChat.push((await allocatedBytes(pid, file)) / 25);
    }
    // The least of them, because the others also have the first loading of modules, or more work of timers on a slow machine.
    expect(Math.min(...perChat)).toBeGreaterThan(30_000);
    expect(Math.min(...perChat)).toBeLessThan(500_000);
  });

  describe('channels that all return 429', () => {
    it('cool down, and the client receives 503 with Retry-After', async () => {
      const answer = await ask('too fast [[fail=rate_limit]]');
      expect(verdictOf(answer)).toBe('503 no_channel_available');
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      await expectRefunded(answer);
      await eventually(async () => verdictOf(await ask('cooled down')) === '200');
    });
  });
});
const ask = (text: string, options: Parameters<typeof chat>[3] = {}) => chat(gateway, project.apiKey, text, options);
const factsOf = (answer: Answer) => chatFacts(gateway, requestIdOf(answer));
const attemptsFor = (answer: Answer) => attemptsOf(gateway.database, requestIdOf(answer));
const apiLog = () => readFile(join(gateway.logFolder, 'api-1.log'), 'utf8');
const failing = (kind: string, ...channels: string[]) =>
  channels.map((channel) => `[[fail=${kind} on=${channel}]]`).join(' ');

async function expectRefunded(answer: Answer): Promise<void> {
  expect(await factsOf(answer)).toMatchObject({ state: 'refunded', settledAmount: null });
  expect(await entriesOf(gateway.database, requestIdOf(answer))).toEqual({ refund: 1 });
}
