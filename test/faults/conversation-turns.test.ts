import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { sessionHeaders } from '../../src/http/request/session-header.ts';
import { all, chat, chatModel } from '../services/chat/chats.ts';
import { type Answer } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { ownError, startChatUpstream, type ChatUpstream } from '../support/chat-upstream.ts';

let gateway: Gateway;
let project: TestProject;
let a: ChatUpstream;
let b: ChatUpstream;
/** Longer than both API servers need to notice a cool-down. */
const accountCooldownSeconds = 8;

beforeAll(async () => {
  [a, b] = await Promise.all([startChatUpstream(), startChatUpstream()]);
  gateway = await startGateway({
    workers: 0,
    apis: 2,
    env: {
      ACCOUNT_REST_SECONDS: String(accountCooldownSeconds),
      // A tripped channel becomes available by an SQL statement of the test or by the job.
      BREAKER_OPEN_SECONDS: '60',
      BREAKER_PROBE_SECONDS: '60',
      RETRIES_PER_MINUTE_MIN: '1000',
    },
  });
  project = await gateway.project({ credits: 100_000 });
  const { database } = gateway;
  await database.query('test-few', `update channel set enabled = (adapter = 'fal')`);
  for (const [name, { url }] of Object.entries({ 'sandbox-a-openai': a, 'sandbox-b-openai': b }))
    await database.query('test-own', 'update channel set enabled = true, base_url = $2 where name = $1', [name, url]);
});
afterAll(async () => {
  await gateway?.stop();
  await Promise.allSettled([a?.die(), b?.die()]);
});
beforeEach(async () => {
  await setWeights(1_000_000, 1);
  for (const upstream of [a, b]) {
    upstream.serve();
    upstream.serveProbes();
  }
  // Wait until both API servers use the reset health. What a call of the test before says of it is written after its answer.
  await eventually(async () => {
    await gateway.database.query('test-all-available', 'delete from channel_health');
    for (const upstream of [a, b]) Object.assign(upstream, { chats: [], probes: 0 });
    await all(20, (n) => ask({ baseUrl: gateway.baseUrls[n % 2] }));
    return a.chats.length === 20;
  });
  a.chats.length = 0;
});
afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

const ask = ({
  baseUrl = gateway.baseUrl,
  apiKey = project.apiKey,
  model = chatModel,
  text = 'hello',
} = {}): Promise<Answer> => chat(gateway, apiKey, text, { baseUrl, fields: { model } });
const setWeights = async (...weights: [number, number]): Promise<void> => {
  for (const [index, name] of ['sandbox-a-openai', 'sandbox-b-openai'].entries())
    await gateway.database.query('test-weigh', 'update channel set weight = $2 where name = $1', [
      name,
      weights[index],
    ]);
};

describe('the turns of a conversation over two equal channels', () => {
  const talk = (n: number) =>
    Array.from({ length: 2 * n + 1 }, (_, at) => ({
      role: at % 2 === 0 ? 'user' : 'assistant',
      content: `message ${at}`,
    }));
  /** Sends ten turns in turn to both API servers. Returns how many chats each upstream received. */
  const tenTurns = async (turn: (n: number) => { fields?: object; headers?: Record<string, string> }) => {
    for (const upstream of [a, b]) upstream.chats.length = 0;
    for (let n = 0; n < 10; n++) {
      const { fields, headers } = turn(n);
      const body = { model: chatModel, messages: talk(n), ...fields };
      const baseUrl = gateway.baseUrls[n % 2];
      const answer = await gateway.create(project.apiKey, '/v1/chat/completions', body, { baseUrl, headers });
      expect(answer.status).toBe(200);
    }
    return [a.chats.length, b.chats.length];
  };
  const aloneInMessages = (n: number) => ({ messages: [{ role: 'user', content: `turn ${n}` }] });
  beforeEach(async () => {
    await setWeights(1, 1);
    // Both API servers draw the second channel too.
    await eventually(async () => {
      for (const upstream of [a, b]) upstream.chats.length = 0;
      await all(20, (n) => ask({ baseUrl: gateway.baseUrls[0], text: `first ${n}` }));
      const once = b.chats.length;
      await all(20, (n) => ask({ baseUrl: gateway.baseUrls[1], text: `second ${n}` }));
      return once > 0 && b.chats.length > once;
    });
  });

  it.each<[string, Parameters<typeof tenTurns>[0]]>([
    ['its opening', () => ({})],
    ['prompt_cache_key', (n) => ({ fields: { ...aloneInMessages(n), prompt_cache_key: 'talk' } })],
    // test/http/request/session-header.test.ts has the others.
    ...sessionHeaders
      .slice(0, 1)
      .map((name): [string, Parameters<typeof tenTurns>[0]] => [
        name,
        (n) => ({ fields: aloneInMessages(n), headers: { [name]: 'talk' } }),
      ]),
  ])('go to one channel if the conversation is known by %s', async (_, turn) => {
    expect((await tenTurns(turn)).sort((left, right) => left - right)).toEqual([0, 10]);
  });

  it('fail over within the turn when the channel of the conversation fails, and return to it', async () => {
    const [first, other] = (await tenTurns(() => ({})))[0] === 10 ? [a, b] : [b, a];
    first.serve(ownError(503, 'overloaded'));
    expect(await ask({ text: 'message 0' })).toMatchObject({ status: 200 });
    first.serve();
    other.chats.length = 0;
    await gateway.database.query('test-all-available', 'delete from channel_health');
    await eventually(async () => (await tenTurns(() => ({})))[first === a ? 0 : 1] === 10);
  });

  it('are spread over both if session_affinity of the model is false', async () => {
    const set = (value: boolean) =>
      gateway.database.query(
        'test-affinity',
        `update model set private = private || jsonb_build_object('session_affinity', $2::boolean) where id = $1`,
        [chatModel, value],
      );
    await set(false);
    try {
      await eventually(async () => (await tenTurns(() => ({}))).every((received) => received > 0));
    } finally {
      await set(true);
    }
  });
});
