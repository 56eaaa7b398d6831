import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { IncomingMessage } from 'node:http';
import { setChannel } from '../../src/services/channels/set-channel.ts';
import { listChannelStates, type ChannelState } from '../../src/db/channels/channel-settings.ts';
import { createSealer } from '../../src/platform/crypto/seal.ts';
import { all, chat, chatBody, chatRoute, countVerdicts, requestIdOf } from '../services/chat/chats.ts';
import { eventually } from '../support/eventually.ts';
import { goodAnswer, ownError, startChatUpstream, type ChatUpstream } from '../support/chat-upstream.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { attemptsOf } from '../support/rows.ts';
import { testConfig } from '../support/test-config.ts';

let gateway: Gateway;
let project: TestProject;
let pooled: ChatUpstream;
let second: ChatUpstream;

const pool = 'sandbox-a-openai';
const next = 'sandbox-b-openai';
const secrets = ['sk-pool-aaaa', 'sk-pool-bbbb', 'sk-pool-cccc'] as const;

/** How many chats each credential sent to the pool's provider. */
const sent = new Map<string, number>();
const secretOf = ({ headers }: IncomingMessage): string => String(headers.authorization).replace('Bearer ', '');

/** How the provider answers each credential; a good answer for those that are not named. */
let answers: Partial<Record<string, Parameters<ChatUpstream['serve']>[0]>> = {};

beforeAll(async () => {
  [pooled, second] = await Promise.all([startChatUpstream(), startChatUpstream()]);
  gateway = await startGateway({ apis: 2, env: { BREAKER_FAILURES_MAX: '1000' } });
  project = await gateway.project({ credits: 100_000 });
  const { database } = gateway;
  await database.query('test-few', `update channel set enabled = (adapter = 'fal')`);
  for (const [index, [name, { url }]] of Object.entries({ [pool]: pooled, [next]: second }).entries())
    await database.query(
      'test-own',
      `update channel set enabled = true, base_url = $2, priority = $3, groups = groups || '{pool}'::text[] where name = $1`,
      [name, url, index + 1],
    );
  const [first, ...more] = secrets;
  await set(pool, { changes: { credential: first } });
  for (const secret of more) await set(pool, { credentialAdd: secret });
});
afterAll(async () => {
  await gateway?.stop();
  await Promise.allSettled([pooled?.die(), second?.die()]);
});

beforeEach(async () => {
  const { database } = gateway;
  await database.query('test-all-available', 'delete from channel_health');
  await database.query(
    'test-all-ready',
    'update channel_credential set unavailable_until = null, reason = null, since = null, alarm = null',
  );
  answers = {};
  sent.clear();
  pooled.serve((request, response, body) => {
    const secret = secretOf(request);
    sent.set(secret, (sent.get(secret) ?? 0) + 1);
    (answers[secret] ?? goodAnswer(0))(request, response, body);
  });
  second.serve(goodAnswer(0));
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

/** Waits until both API servers use all three credentials. */
const untilEvenly = () =>
  eventually(async () => {
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
      return !sent.has(secrets[0]);
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
