import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { expireChats } from '../../src/db/chat/chat-ledger.ts';
import { setChannel } from '../../src/services/channels/set-channel.ts';
import { listChannelStates, type ChannelState } from '../../src/db/channels/channel-settings.ts';
import { createSealer } from '../../src/platform/crypto/seal.ts';
import { all, chat, chatBody, chatRoute, countVerdicts, requestIdOf } from '../services/chat/chats.ts';
import { startBusyUpstream, type BusyUpstream } from '../support/busy-upstream.ts';
import { eventually } from '../support/eventually.ts';
import { goodAnswer, ownError, startChatUpstream, type ChatUpstream } from '../support/chat-upstream.ts';
import { mediaRoutes } from '../support/api-client.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { attemptsOf } from '../support/rows.ts';
import { testConfig } from '../support/test-config.ts';

let gateway: Gateway;
let project: TestProject;
let pooled: ChatUpstream;
let second: ChatUpstream;
let media: BusyUpstream;

const pool = 'sandbox-a-openai';
const next = 'sandbox-b-openai';
/** Of the family fal. */
const mediaPool = 'sandbox-a';
const secrets = ['sk-pool-aaaa', 'sk-pool-bbbb', 'sk-pool-cccc'] as const;

/** How many chats each credential sent to the pool's provider. */
const sent = new Map<string, number>();
const secretOf = ({ headers }: IncomingMessage): string => String(headers.authorization).replace('Bearer ', '');

/** How the provider answers each credential; a good answer for those that are not named. */
let answers: Partial<Record<string, Parameters<ChatUpstream['serve']>[0]>> = {};

beforeAll(async () => {
  [pooled, second] = await Promise.all([startChatUpstream(), startChatUpstream()]);
  gateway = await startGateway({
    apis: 2,
    env: {
      BREAKER_FAILURES_MAX: '1000',
      POLL_INLINE_SECONDS: '1',
      RATE_LIMIT_REST_SECONDS: '300',
      RATE_LIMIT_REST_MAX_SECONDS: '300',
    },
  });
  project = await gateway.project({ credits: 100_000 });
  const { database } = gateway;
  await database.query('test-few', `update channel set enabled = (adapter = 'fal')`);
  for (const [index, [name, { url }]] of Object.entries({ [pool]: pooled, [next]: second }).entries())
    await database.query(
      'test-own',
      `update channel set enabled = true, base_url = $2, priority = $3, groups = groups || '{pool}'::text[] where name = $1`,
      [name, url, index + 1],
    );
  media = await startBusyUpstream(gateway.sandboxUrl);
  await database.query(
    'test-media',
    `update channel set base_url = replace(base_url, $1, $2) where name = 'sandbox-a'`,
    [gateway.sandboxUrl, media.url],
  );
  await database.query('test-no-other', `update channel set enabled = false where name in ('sandbox-b', 'sandbox-c')`);
  const [first, ...more] = secrets;
  for (const channel of [pool, mediaPool]) {
    await set(channel, { changes: { credential: first } });
    for (const secret of more) await set(channel, { credentialAdd: secret });
  }
});
afterAll(async () => {
  await gateway?.stop();
  await Promise.allSettled([pooled?.die(), second?.die(), media?.close()]);
});

beforeEach(async () => {
  answers = {};
  sent.clear();
  pooled.serve((request, response, body) => {
    const secret = secretOf(request);
    sent.set(secret, (sent.get(secret) ?? 0) + 1);
    (answers[secret] ?? goodAnswer(0))(request, response, body);
  });
  second.serve(goodAnswer(0));
  media.refuse(null);
  media.submits.length = 0;
  media.reads.length = 0;
  await untilEvenly();
});
afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

const set = (channel: string, changes: Partial<Parameters<typeof setChannel>[1]>) =>
  setChannel(
    { db: gateway.database, sealer: createSealer(testConfig(gateway.env).secrets.masterKeys) },
    { channel, changes: {}, actor: 'test', ...changes },
  );

const baseUrlOf = (n: number): string => gateway.baseUrls[n % 2] ?? gateway.baseUrl;
const ask = (n = 0) => chat(gateway, project.apiKey, 'hello', { baseUrl: baseUrlOf(n) });

const asking = {
  whole: async (n: number): Promise<number> => (await ask(n)).status,
  /** Reads the answer to its end. */
  streamed: async (n: number): Promise<number> => {
    const response = await fetch(`${baseUrlOf(n)}${chatRoute}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${project.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(chatBody('hello', { stream: true })),
    });
    const text = await response.text();
    return text.includes('[DONE]') ? response.status : 0;
  },
};

/** Ends every cool-down, also one that is written late, and waits until both API servers use all three credentials. */
const untilEvenly = () =>
  eventually(async () => {
    const { database } = gateway;
    await database.query('test-all-available', 'delete from channel_health');
    await database.query(
      'test-all-ready',
      'update channel_credential set unavailable_until = null, reason = null, since = null, alarm = null',
    );
    sent.clear();
    second.chats.length = 0;
    await all(12, (n) => ask(n));
    return secrets.every((secret) => sent.get(secret) === 4);
  }).then(() => {
    sent.clear();
    second.chats.length = 0;
  });

async function stateOf(name: string): Promise<ChannelState> {
  const state = (await listChannelStates(gateway.database)).find((channel) => channel.name === name);
  if (!state) throw new Error(`no channel ${name}`);
  return state;
}
const restingOf = async (name: string) =>
  (await stateOf(name)).credentials.filter(({ until }) => until !== null).map(({ last4, reason }) => [last4, reason]);

const tooMany = ownError(429, 'rate_limit_exceeded', { 'retry-after': '60' });

describe('a channel with several credentials', () => {
  it.each([
    ['whole', 'whole'],
    ['streamed', 'streamed'],
  ] as const)('serves every %s chat while a 429 rests one of them, and sends that one nothing more', async (_, how) => {
    answers = { [secrets[0]]: tooMany };
    expect(await all(30, asking[how])).toEqual(Array(30).fill(200));
    expect(second.chats).toEqual([]);
    await eventually(async () => (await restingOf(pool)).length === 1);
    expect(await restingOf(pool)).toEqual([['aaaa', 'rate_limit']]);
    expect((await stateOf(pool)).reasons).toEqual([]);
    await eventually(async () => {
      sent.clear();
      await all(8, asking[how]);
      // An API server may learn of it between two of the chats.
      return !sent.has(secrets[0]) && sent.get(secrets[1]) === 4;
    });
    expect(sent.get(secrets[1])).toBe(4);
    expect(sent.get(secrets[2])).toBe(4);
  });

  it('notes each call of a request on the same channel', async () => {
    answers = { [secrets[0]]: tooMany, [secrets[1]]: ownError(401, 'invalid_api_key') };
    const chats = await all(3, () => ask());
    expect(countVerdicts(chats)).toEqual({ 200: 3 });
    const calls = await Promise.all(chats.map((answer) => attemptsOf(gateway.database, requestIdOf(answer))));
    for (const attempts of calls) {
      expect(attempts.map(({ channelName }) => channelName)).toEqual(attempts.map(() => pool));
      expect(attempts.map(({ outcome }) => outcome)).toEqual([...attempts.slice(1).map(() => 'transient'), 'ok']);
    }
    expect(Math.max(...calls.map(({ length }) => length))).toBeGreaterThan(1);
  });

  it.each([
    ['401', ownError(401, 'invalid_api_key')],
    ['402', ownError(402, 'insufficient_quota')],
    ['429 about the account', ownError(429, 'insufficient_quota')],
  ])(
    'rests one of them after a %s, with an alarm, and ends the alarm when it works again',
    async (_status, refusal) => {
      answers = { [secrets[1]]: refusal };
      expect(countVerdicts(await all(6, (n) => ask(n)))).toEqual({ 200: 6 });
      await eventually(async () => (await stateOf(pool)).credentials[1]?.alarm === 'account');
      expect(await restingOf(pool)).toEqual([['bbbb', 'account']]);
      expect((await stateOf(pool)).reasons).toEqual([]);
      answers = {};
      await gateway.database.query(
        'test-rested',
        'update channel_credential set unavailable_until = clock_timestamp()',
      );
      await eventually(async () => {
        await all(6, (n) => ask(n));
        return (await stateOf(pool)).credentials[1]?.alarm === null;
      });
    },
  );

  it('rests one after a bare 403 that its free call confirms', async () => {
    pooled.serveProbes((request, response, body) =>
      secretOf(request) === secrets[2]
        ? ownError(401, 'invalid_api_key')(request, response, body)
        : goodAnswer(0)(request, response),
    );
    answers = { [secrets[2]]: (_request, response) => void response.writeHead(403).end() };
    expect(countVerdicts(await all(6, (n) => ask(n)))).toEqual({ 200: 6 });
    await eventually(async () => (await restingOf(pool)).length === 1);
    expect(await restingOf(pool)).toEqual([['cccc', 'account']]);
    pooled.serveProbes();
  });

  it('rests as a whole only while all of them rest, and the next channel serves', async () => {
    answers = Object.fromEntries(secrets.map((secret) => [secret, tooMany]));
    expect(countVerdicts(await all(6, (n) => ask(n)))).toEqual({ 200: 6 });
    await eventually(async () => (await restingOf(pool)).length === 3);
    await eventually(async () => {
      sent.clear();
      await all(4, (n) => ask(n));
      return sent.size === 0;
    });
    expect(await stateOf(pool)).toMatchObject({ reasons: [{ kind: 'resting', model: '*', reason: 'rate_limit' }] });
    expect(await stateOf(next)).toMatchObject({ reasons: [] });
  });
});

describe('a media channel with several credentials', () => {
  const draw = (prompt: string): Promise<string> =>
    gateway.accept(project.apiKey, mediaRoutes.image, { model: 'aurora-image-1', prompt });
  /** Before a credential that rests for five minutes is ready again. */
  const ended = (taskId: string) => gateway.poll(project.apiKey, taskId);
  const failedOf = async (taskId: string) =>
    (await attemptsOf(gateway.database, taskId)).map(({ outcome, errorClass }) => [outcome, errorClass]);
  const usedBy = (seen: { authorization: string }[]): string[] => [
    ...new Set(seen.map(({ authorization }) => authorization.replace('Key ', ''))),
  ];
  const rest = (secret: string, seconds = 300) =>
    gateway.database.query(
      'test-rest-one',
      `update channel_credential k set unavailable_until = clock_timestamp() + make_interval(secs => $3), reason = 'rate_limit'
       from channel c where c.id = k.channel_id and c.name = $1 and k.last4 = $2`,
      [mediaPool, secret.slice(-4), seconds],
    );

  it.each([
    ['429', { status: 429, headers: { 'retry-after': '300' }, body: { detail: 'busy' } }, 'rate_limit'],
    ['401', { status: 401, body: { detail: 'no' } }, 'account'],
  ])('submits a task with another one after a %s, in the same run', async (_status, refusal, errorClass) => {
    media.refuse(refusal, ({ authorization }) => authorization !== `Key ${secrets[2]}`);
    const taskId = await draw('a pool');
    expect(await ended(taskId)).toMatchObject({ status: 'succeeded' });
    const calls = await failedOf(taskId);
    expect(calls.at(-1)).toEqual(['ok', null]);
    expect(calls.slice(0, -1)).toEqual(calls.slice(1).map(() => ['transient', errorClass]));
    const more = await Promise.all([draw('one'), draw('two'), draw('three')]);
    expect((await Promise.all(more.map(ended))).map(({ status }) => status)).toEqual(Array(3).fill('succeeded'));
    await eventually(async () => (await restingOf(mediaPool)).length === 2);
    expect((await stateOf(mediaPool)).reasons).toEqual([]);
  });

  it('waits while all of them rest, and does not fail for it', async () => {
    for (const secret of secrets) await rest(secret, 3);
    const taskId = await draw('late');
    expect(await ended(taskId)).toMatchObject({ status: 'succeeded' });
    expect(await failedOf(taskId)).toEqual([['ok', null]]);
  });

  it('polls each job with the credential that submitted it, also while that one rests and the job is parked', async () => {
    const taskIds = await Promise.all(secrets.map((_, n) => draw(`slow ${n} [[latency=15000]]`)));
    await eventually(() => Promise.resolve(media.submits.length === 3));
    expect(usedBy(media.submits).sort()).toEqual([...secrets]);
    for (const secret of secrets) await rest(secret);
    for (const taskId of taskIds) expect(await ended(taskId)).toMatchObject({ status: 'succeeded' });
    const byProviderRef = Map.groupBy(media.reads, ({ path }) => /requests\/([^/?]+)/.exec(path)?.[1]);
    byProviderRef.delete(undefined);
    expect(byProviderRef.size).toBe(3);
    expect([...byProviderRef.values()].map((reads) => usedBy(reads).length)).toEqual([1, 1, 1]);
    expect(usedBy([...byProviderRef.values()].flat()).sort()).toEqual([...secrets]);
  });

  it('says in the attempt that the credential of its job was removed', async () => {
    await set(mediaPool, { credentialAdd: 'sk-gone-dddd' });
    // The worker caches the credentials.
    await eventually(async () => {
      await ended(await draw('known'));
      return usedBy(media.submits).includes('sk-gone-dddd');
    });
    media.submits.length = 0;
    media.refuse(
      { status: 429, body: { detail: 'busy' } },
      ({ authorization }) => authorization !== 'Key sk-gone-dddd',
    );
    const taskId = await draw('gone [[latency=30000]]');
    await eventually(() => Promise.resolve(media.submits.some(({ refused }) => !refused)));
    await set(mediaPool, { credentialRemove: 'dddd' });
    expect(await ended(taskId)).toMatchObject({ status: 'failed', error: { code: 'upstream_outcome_unknown' } });
    const [attempt] = await gateway.database.query<{ detail: string }>(
      'test-last-attempt',
      'select detail from attempt where request_id = $1 order by n desc limit 1',
      [taskId],
    );
    expect(attempt?.detail).toContain('was removed from its channel');
  });
});

describe('the limits of channels', () => {
  const limit = async (name: string, limits: Record<string, number | null>): Promise<void> => {
    await set(name, { changes: { rpm: null, tpm: null, parallel: null, ...limits } });
    for (const table of ['channel_use', 'channel_call']) await gateway.database.query('', `delete from ${table}`);
  };
  /** Waits until both API servers know of a limit: each counts its calls. */
  const untilCounted = () =>
    eventually(async () => {
      await gateway.database.query('', 'delete from channel_use');
      await Promise.all([ask(0), ask(1)]);
      const [row] = await gateway.database.query<{ n: number }>(
        'test-counted',
        `select coalesce(sum(u.requests), 0)::int as n from channel_use u join channel c on c.id = u.subject_id where c.name = $1`,
        [pool],
      );
      await gateway.database.query('', 'delete from channel_use');
      return row?.n === 2;
    }).then(() => {
      pooled.chats.length = 0;
      second.chats.length = 0;
    });
  afterEach(async () => {
    for (const name of [pool, next, mediaPool]) await limit(name, {});
  });

  it('let 60 of 90 chats over two API servers through, and the next channel serves the others', async () => {
    await limit(pool, { rpm: 60 });
    await untilCounted();
    expect(countVerdicts(await all(90, (n) => ask(n)))).toEqual({ 200: 90 });
    expect(pooled.chats).toHaveLength(60);
    expect(second.chats).toHaveLength(30);
    expect((await stateOf(pool)).limits).toMatchObject({ rpm: 60, used: { rpm: 60 }, wait: expect.any(Number) });
    expect((await stateOf(pool)).reasons).toEqual([]);
  });

  it('answer 503 with the time until one is free when all channels are at theirs, and count no failure', async () => {
    await limit(next, { rpm: 1 });
    await limit(pool, { rpm: 2 });
    await untilCounted();
    await eventually(async () => {
      const answers = await all(6, (n) => ask(n));
      return answers.some(({ status }) => status === 503);
    });
    const full = await ask();
    expect({ status: full.status, code: countVerdicts([full]) }).toEqual({
      status: 503,
      code: { '503 no_channel_available': 1 },
    });
    const seconds = Number(full.headers.get('retry-after'));
    expect(seconds).toBeGreaterThan(30);
    expect(seconds).toBeLessThanOrEqual(61);
    for (const name of [pool, next]) expect((await stateOf(name)).reasons).toEqual([]);
  });

  it('bound the calls at the same time, give a slot back when the client of a stream leaves, and when a process is killed', async () => {
    await limit(pool, { parallel: 2 });
    await untilCounted();
    // The headers and no end, so that the calls run until the test ends them.
    const open: ServerResponse[] = [];
    pooled.serve((_request, response) => {
      open.push(response);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`data: ${JSON.stringify(piece)}\n\n`);
    });
    const killed = await gateway.startApi();
    const leaving = new AbortController();
    const stream = (baseUrl: string) =>
      fetch(`${baseUrl}${chatRoute}`, {
        method: 'POST',
        signal: leaving.signal,
        headers: { authorization: `Bearer ${project.apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify(chatBody('hello', { stream: true })),
      });
    for (const baseUrl of [gateway.baseUrl, killed.baseUrl]) stream(baseUrl).catch(() => undefined);
    await eventually(() => Promise.resolve(open.length === 2));
    expect((await stateOf(pool)).limits.used.parallel).toBe(2);
    expect(countVerdicts(await all(6, (n) => ask(n)))).toEqual({ 200: 6 });
    expect(open).toHaveLength(2);
    expect(second.chats.length).toBeGreaterThanOrEqual(6);

    await gateway.kill(killed.name, 'SIGKILL');
    leaving.abort();
    for (const response of open) response.destroy();
    // Most of the lease of the killed process is over. A process that lives would renew it.
    await gateway.database.query('', `update channel_call set expires_at = expires_at - interval '13 seconds'`);
    await eventually(async () => (await stateOf(pool)).limits.used.parallel === 0);
    pooled.serve(goodAnswer(0));
    pooled.chats.length = 0;
    expect(countVerdicts(await all(2, (n) => ask(n)))).toEqual({ 200: 2 });
    expect(pooled.chats).toHaveLength(2);
    await gateway.database.query('test-expire', `update hold set expires_at = clock_timestamp()`);
    await eventually(async () => (await expireChats(gateway.database, 10)) >= 0);
  });

  it('give a slot back when the call that it was taken for cannot be written', async () => {
    const { database } = gateway;
    await limit(next, { parallel: 1 });
    await limit(pool, { parallel: 50 });
    await untilCounted();
    pooled.serve(ownError(500, 'server_error'));
    await database.query('', 'alter function next_chat_attempts(jsonb) rename to away_chat_attempts');
    try {
      expect((await ask()).status).toBeGreaterThanOrEqual(500);
    } finally {
      await database.query('', 'alter function away_chat_attempts(jsonb) rename to next_chat_attempts');
      pooled.serve(goodAnswer(0));
    }
    expect(second.chats).toHaveLength(0);
    await eventually(async () => {
      const rows = await database.query<{ requests: number }>(
        'test-given-back',
        'select u.requests from channel_use u join channel c on c.id = u.subject_id where c.name = $1',
        [next],
      );
      return rows.length === 1 && rows[0]?.requests === 0 && (await stateOf(next)).limits.used.parallel === 0;
    });
  });

  it('let a task wait for a slot, and count its job until it ends', async () => {
    await limit(mediaPool, { parallel: 1 });
    await eventually(async () => {
      media.submits.length = 0;
      const body = { model: 'aurora-image-1', prompt: 'known' };
      await gateway.poll(project.apiKey, await gateway.accept(project.apiKey, mediaRoutes.image, body));
      const [row] = await gateway.database.query('test-call', 'select 1 from channel_use limit 1');
      return row !== undefined;
    });
    const body = (prompt: string) => ({ model: 'aurora-image-1', prompt });
    const running = await gateway.accept(project.apiKey, mediaRoutes.image, body('first [[latency=20000]]'));
    // The slot is taken before the submit arrives.
    await eventually(
      async () =>
        media.submits.some(({ body: sent }) => sent.includes('first')) &&
        (await stateOf(mediaPool)).limits.used.parallel === 1,
    );
    media.submits.length = 0;
    const waiting = await gateway.accept(project.apiKey, mediaRoutes.image, body('second'));
    expect(await gateway.poll(project.apiKey, running)).toMatchObject({ status: 'succeeded' });
    expect(await gateway.poll(project.apiKey, waiting)).toMatchObject({ status: 'succeeded', attempts: 1 });
    expect(media.submits.map(({ body: sent }) => sent)).toEqual([expect.stringContaining('second')]);
    await eventually(async () => (await stateOf(mediaPool)).limits.used.parallel === 0);
  });
});

const piece = {
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1_780_000_000,
  model: 'gpt-5-mini',
  choices: [{ index: 0, finish_reason: null, delta: { role: 'assistant', content: 'Good' } }],
};
