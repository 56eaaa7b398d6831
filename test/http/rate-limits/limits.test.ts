import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { revokeKey } from '../../../src/services/projects/revoke-key.ts';
import { rotateKey } from '../../../src/services/projects/rotate-key.ts';
import { setKey } from '../../../src/services/projects/set-key.ts';
import { setProjectEnabled } from '../../../src/services/projects/set-project-enabled.ts';
import type { Config } from '../../../src/config/load-config.ts';
import { testConfig } from '../../support/test-config.ts';
import {
  all,
  chat,
  chatFacts,
  chatModel,
  chatRoute,
  countVerdicts,
  keyFacts,
  requestIdOf,
  tenCredits,
  usageOfFive,
  usageOfTen,
  verdictOf,
} from '../../services/chat/chats.ts';
import { heldModel, openHeldChannel, type HeldChannel } from '../../services/chat/held-channel.ts';
import { mediaRoutes, type Answer } from '../../support/api-client.ts';
import { eventually } from '../../support/eventually.ts';
import { startGateway, type Gateway } from '../../support/gateway.ts';
import { accountOf, countRows } from '../../support/rows.ts';
import { spec } from '../../spec/spec.ts';

let gateway: Gateway;
let config: Config;
let held: HeldChannel;
const actor = 'test';
beforeAll(async () => {
  gateway = await startGateway({ apis: 2, workers: 0, env: { AUTH_FAILURES_PER_MINUTE_MAX: '1000' } });
  config = testConfig(gateway.env);
  held = await openHeldChannel(gateway);
});
afterAll(async () => {
  await gateway?.stop();
  await held?.close();
});
afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

/** Spreads requests evenly over the API servers. */
const apiOf = (index: number) => ({ baseUrl: gateway.baseUrls[index % gateway.baseUrls.length] ?? gateway.baseUrl });
const deps = () => ({ db: gateway.database, config });

/** Moves the counted requests of this key the given number of seconds into the past. */
const age = (keyId: string, seconds: number) =>
  gateway.database.query(
    'test-age-window',
    'update rate_window set second = second - $2, oldest = oldest - $2 where key_id = $1 and $2 > 0',
    [keyId, seconds],
  );

describe("a key's budget", () => {
  it('admits exactly 100 of 500 parallel chats if it covers 100 holds and each chat costs its whole hold', async () => {
    spec('5 credit budget');
    const { projectId, keyId, apiKey } = await gateway.project({ credits: 100_000, budget: 1_000 });
    const answers = await all(500, (index) =>
      chat(gateway, apiKey, `budget [[latency=2000 ${usageOfTen}]]`, { fields: tenCredits, ...apiOf(index) }),
    );
    expect(countVerdicts(answers)).toEqual({ 200: 100, '402 key_budget_exceeded': 400 });
    const refused = answers.filter(({ status }) => status === 402);
    expect(new Set(refused.map(({ headers }) => headers.get('x-should-retry')))).toEqual(new Set(['false']));
    expect(await keyFacts(gateway, keyId)).toEqual({ spent: 1_000, reserved: 0, inFlight: 0 });
    expect(await accountOf(gateway.database, projectId)).toEqual({ balance: 99_000, reserved: 0 });
    expect(await gateway.hits('budget [[latency=2000', 'chat')).toHaveLength(100);
  });

  it('admits chats that cost half of their hold until less than one hold is left', async () => {
    const { keyId, apiKey } = await gateway.project({ budget: 100 });
    const admitted: number[] = [];
    do {
      const answers = await all(20, (index) =>
        chat(gateway, apiKey, `half [[latency=300 ${usageOfFive}]]`, { fields: tenCredits, ...apiOf(index) }),
      );
      const counts = countVerdicts(answers);
      expect((counts['200'] ?? 0) + (counts['402 key_budget_exceeded'] ?? 0)).toBe(20);
      admitted.push(counts['200'] ?? 0);
    } while (admitted.at(-1) !== 0 && admitted.length < 10);
    expect(admitted.reduce((sum, count) => sum + count, 0)).toBe(19);
    expect(await keyFacts(gateway, keyId)).toEqual({ spent: 95, reserved: 0, inFlight: 0 });
  });
});

describe("a key's requests per minute", () => {
  it('admit exactly 10 of 200 parallel requests over two API servers, and one more after Retry-After', async () => {
    spec('5 RPM');
    const { keyId, apiKey } = await gateway.project({ rpm: 10 });
    const answers = await all(200, (index) => chat(gateway, apiKey, 'how many', apiOf(index)));
    expect(countVerdicts(answers)).toEqual({ 200: 10, '429 rate_limit_exceeded': 190 });
    for (const { headers, status } of answers) {
      expect(headers.get('ratelimit-policy')).toBe('"key";q=10;w=60');
      expect(headers.get('ratelimit')).toMatch(/^"key";r=\d;t=\d+$/);
      expect(headers.get('x-ratelimit-limit-requests')).toBe('10');
      expect(headers.get('x-ratelimit-remaining-requests')).toMatch(status === 429 ? /^0$/ : /^\d$/);
      expect(headers.get('x-ratelimit-reset-requests')).toMatch(/^\d+s$/);
      expect(headers.has('retry-after')).toBe(status === 429);
    }

    const last = await chat(gateway, apiKey, 'how many');
    const waitSeconds = Number(last.headers.get('retry-after'));
    expect(waitSeconds).toBeGreaterThanOrEqual(1);
    expect(waitSeconds).toBeLessThanOrEqual(61);
    await age(keyId, waitSeconds);
    expect(verdictOf(await chat(gateway, apiKey, 'how many', apiOf(1)))).toBe('200');
  });

  it('refuse a request without changing credits, tasks or idempotency rows, on every route', async () => {
    const { apiKey } = await gateway.project({ rpm: 1 });
    const free = await gateway.key((await gateway.project()).projectId, { rpm: 1 });
    for (const key of [apiKey, free.apiKey]) expect(verdictOf(await chat(gateway, key, 'the one'))).toBe('200');
    const before = await countRows(gateway.database);
    for (const headers of [{}, { 'idempotency-key': 'once more' }] as Record<string, string>[]) {
      expect(verdictOf(await chat(gateway, apiKey, 'too many', { headers }))).toBe('429 rate_limit_exceeded');
      const image = { model: 'aurora-image-1', prompt: 'too many' };
      expect(verdictOf(await gateway.create(apiKey, mediaRoutes.image, image, { headers }))).toBe(
        '429 rate_limit_exceeded',
      );
    }
    expect(await countRows(gateway.database)).toEqual(before);
    expect(await gateway.hits('too many')).toEqual([]);
  });

  it('count a request with invalid content once', async () => {
    const { apiKey } = await gateway.project({ rpm: 3 });
    for (const [fields, remaining] of [
      [{ temperature: 3 }, '2'],
      [{ model: 'nobody' }, '1'],
      [{}, '0'],
    ] as const) {
      const { headers } = await chat(gateway, apiKey, 'counted', { fields });
      expect(headers.get('x-ratelimit-remaining-requests')).toBe(remaining);
    }
  });

  const badBodies: { what: string; status: number; body: string; headers?: Record<string, string> }[] = [
    { what: 'that is not JSON', status: 400, body: '{' },
    { what: 'that is empty', status: 400, body: '' },
    { what: 'of another content type', status: 415, body: '{}', headers: { 'content-type': 'text/plain' } },
    { what: 'that is too large', status: 413, body: ' '.repeat(4_000_001) },
    { what: 'and an invalid Idempotency-Key', status: 400, body: '{}', headers: { 'idempotency-key': 'ü' } },
  ];
  it.each(badBodies)('count a chat with a body $what, in both dialects', async ({ body, headers = {}, status }) => {
    for (const route of [chatRoute, `/api/v1beta/models/${chatModel}:generateContent`]) {
      const { apiKey } = await gateway.project({ rpm: 2 });
      const answers = [];
      for (let n = 0; n < 6; n += 1) answers.push(await gateway.create(apiKey, route, body, { headers, ...apiOf(n) }));
      expect(answers.map((answer) => answer.status)).toEqual([status, status, 429, 429, 429, 429]);
      const left = answers.map((answer) => answer.headers.get('x-ratelimit-remaining-requests'));
      expect(left).toEqual(['1', '0', '0', '0', '0', '0']);
      expect(answers.map((answer) => answer.headers.has('retry-after'))).toEqual(answers.map((_, n) => n >= 2));
    }
  });

  it('count a chat for which no channel is available', async () => {
    const switchAll = (enabled: boolean) =>
      gateway.database.query('test-switch-all', 'update channel set enabled = $1', [enabled]);
    const unlimited = await gateway.project();
    const { apiKey } = await gateway.project({ rpm: 2 });
    await switchAll(false);
    try {
      await eventually(async () => (await chat(gateway, unlimited.apiKey, 'no channel')).status === 503);
      const verdicts = [];
      for (let n = 0; n < 4; n += 1) verdicts.push(verdictOf(await chat(gateway, apiKey, 'no channel')));
      const [none, over] = ['503 no_channel_available', '429 rate_limit_exceeded'];
      expect(verdicts).toEqual([none, none, over, over]);
    } finally {
      await switchAll(true);
      for (const index of [0, 1])
        await eventually(
          async () => (await chat(gateway, unlimited.apiKey, 'back again', apiOf(index))).status === 200,
        );
    }
  });

  it('have a separate, larger limit for polls, and neither limit consumes the other', async () => {
    const { apiKey } = await gateway.project({ rpm: 2 });
    const poll = () => gateway.get(apiKey, '/api/v1/tasks/task_nobody', apiOf(0));
    const polls = await all(40, poll);
    const counts = countVerdicts(polls);
    expect(counts['404 task_not_found']).toBeGreaterThanOrEqual(20);
    expect(counts['429 rate_limit_exceeded']).toBeGreaterThan(0);
    expect(polls[0]?.headers.get('ratelimit-policy')).toBe('"key";q=20;w=60');
    for (const verdict of ['200', '200', '429 rate_limit_exceeded'])
      expect(verdictOf(await chat(gateway, apiKey, 'still', apiOf(0)))).toBe(verdict);
    expect(verdictOf(await gateway.get(apiKey, '/api/v1/tasks/task_nobody', apiOf(1)))).toBe('404 task_not_found');
  });

  it('are counted for each key alone, and a key without a limit gets no rate limit headers', async () => {
    const { projectId, apiKey: busy } = await gateway.project({ rpm: 1 });
    await all(20, () => chat(gateway, busy, 'busy'));
    const idle = await gateway.key(projectId, { rpm: 5 });
    expect(countVerdicts(await all(5, () => chat(gateway, idle.apiKey, 'idle')))).toEqual({ 200: 5 });
    const { apiKey } = await gateway.key(projectId);
    const { headers } = await chat(gateway, apiKey, 'free');
    expect([...headers.keys()].filter((name) => name.includes('ratelimit'))).toEqual([]);
  });
});

describe("a key's limit of concurrent requests", () => {
  it('refuses further chats and tasks with concurrency_limit_exceeded, and frees a slot when a request ends', async () => {
    const { keyId, apiKey } = await gateway.project({ inFlightMax: 3 });
    /** Sends chats in parallel and lets the admitted ones end only after all others were refused. */
    const crowd = async (count: number, admitted: number): Promise<Answer[]> => {
      const letGo = held.hold();
      let answered = 0;
      const responses = all(count, (index) =>
        chat(gateway, apiKey, 'in flight', { fields: heldModel, ...apiOf(index) }).finally(() => (answered += 1)),
      );
      await Promise.all([held.holds(admitted), eventually(() => Promise.resolve(answered >= count - admitted))]);
      letGo();
      return responses;
    };
    const answers = await crowd(12, 3);
    expect(countVerdicts(answers)).toEqual({ 200: 3, '429 concurrency_limit_exceeded': 9 });
    const waits = answers.filter(({ status }) => status === 429).map(({ headers }) => headers.get('retry-after'));
    expect(new Set(waits)).toEqual(new Set(['5']));
    expect(await keyFacts(gateway, keyId)).toMatchObject({ inFlight: 0 });
    const task = await gateway.accept(apiKey, mediaRoutes.image, {
      model: 'aurora-image-1',
      prompt: 'beside chats [[fail=never]]',
    });
    await eventually(async () => (await keyFacts(gateway, keyId))?.inFlight === 1);
    expect(countVerdicts(await crowd(6, 2))).toEqual({ 200: 2, '429 concurrency_limit_exceeded': 4 });
    expect(await keyFacts(gateway, keyId)).toMatchObject({ inFlight: 1 });
    expect((await gateway.create(apiKey, `/api/v1/tasks/${task}/cancel`, {})).status).toBe(200);
    expect(await keyFacts(gateway, keyId)).toMatchObject({ inFlight: 0, reserved: 0 });
  });
});

describe('a key', () => {
  it('gets 403 for a model outside its allowlist until the allowlist includes the model', async () => {
    const { keyId, apiKey } = await gateway.project({ models: ['aurora-image-1'] });
    const refused = await chat(gateway, apiKey, 'not this model');
    expect([verdictOf(refused), refused.body]).toMatchObject(['403 model_not_allowed', { error: { param: 'model' } }]);
    expect(await chatFacts(gateway, requestIdOf(refused))).toBeUndefined();
    await setKey(deps(), { keyId, changes: { models: [chatModel] }, actor });
    await eventually(async () => verdictOf(await chat(gateway, apiKey, 'now this model')) === '200');
  });

  it('spends nothing after its revocation, and every route answers 401 within five seconds', async () => {
    const { projectId, keyId, apiKey } = await gateway.project();
    // Both API servers have the key in their cache now.
    for (const index of [0, 1]) expect(verdictOf(await chat(gateway, apiKey, 'known', apiOf(index)))).toBe('200');
    await revokeKey(deps(), { keyId, actor });
    const revokedAt = performance.now();
    const { balance } = await accountOf(gateway.database, projectId);
    const answers = await all(20, (index) => chat(gateway, apiKey, 'after the end', apiOf(index)));
    expect(countVerdicts(answers)).toEqual({ '401 invalid_api_key': 20 });
    const image = { model: 'aurora-image-1', prompt: 'after the end' };
    expect((await gateway.create(apiKey, mediaRoutes.image, image)).status).toBe(401);
    expect(await gateway.hits('after the end')).toEqual([]);
    expect(await accountOf(gateway.database, projectId)).toEqual({ balance, reserved: 0 });
    const isUnknown = (index: number) =>
      eventually(async () => {
        const isLate = performance.now() - revokedAt > 5_000;
        const { status } = await gateway.get(apiKey, '/api/v1/models', apiOf(index));
        if (isLate) expect(status).toBe(401);
        return status === 401;
      });
    await all(2, isUnknown);
  });

  it('gets the same answer as an unknown key while it is expired or its project is disabled', async () => {
    const { projectId, keyId, apiKey } = await gateway.project();
    const unknown = await chat(gateway, `sk-${'x'.repeat(46)}`, 'blocked');
    const send = () => chat(gateway, apiKey, 'blocked', apiOf(1));
    expect(verdictOf(await send())).toBe('200');
    const blocks = [
      [
        () => setKey(deps(), { keyId, changes: { expiresAt: new Date(Date.now() - 1_000) }, actor }),
        () => setKey(deps(), { keyId, changes: { expiresAt: null }, actor }),
      ],
      [
        () => setProjectEnabled(deps(), { projectId, enabled: false, actor }),
        () => setProjectEnabled(deps(), { projectId, enabled: true, actor }),
      ],
    ] as const;
    for (const [block, unblock] of blocks) {
      await block();
      const refused = await send();
      expect([refused.status, refused.body]).toEqual([401, unknown.body]);
      await unblock();
      await eventually(async () => verdictOf(await send()) === '200');
    }
  });
});

describe('a rotated key', () => {
  it('is valid with its old and its new secret, which share its budget and its rate limit', async () => {
    const { keyId, apiKey: old } = await gateway.project({ budget: 20, rpm: 4 });
    const { apiKey: fresh } = await rotateKey(deps(), { keyId, actor });
    const send = (apiKey: string) => chat(gateway, apiKey, `shared [[${usageOfTen}]]`, { fields: tenCredits });
    const [first, second, third, fourth] = [await send(old), await send(fresh), await send(old), await send(fresh)];
    expect([first, second, third, fourth].map(verdictOf)).toEqual([
      '200',
      '200',
      '402 key_budget_exceeded',
      '402 key_budget_exceeded',
    ]);
    expect(fourth.headers.get('x-ratelimit-remaining-requests')).toBe('0');
    expect(verdictOf(await send(old))).toBe('429 rate_limit_exceeded');
    expect(await keyFacts(gateway, keyId)).toMatchObject({ spent: 20 });
  });
});
