import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { readChannelHistory, type HistoryPoint } from '../../src/services/channels/read-channel-history.ts';
import { claimChannel, noteChannelFailure, coolDownChannel } from '../../src/db/channels/channels.ts';
import { cli } from '../../src/main/cli.ts';
import { all, chat, chatModel, countVerdicts, requestIdOf, verdictOf } from '../services/chat/chats.ts';
import { runByCall } from '../services/scheduled-jobs/scheduler.ts';
import { mediaRoutes, type Answer } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { attemptsOf } from '../support/rows.ts';
import { goodAnswer, ownError, startChatUpstream, type ChatUpstream } from '../support/chat-upstream.ts';

let gateway: Gateway;
let project: TestProject;
let a: ChatUpstream;
let b: ChatUpstream;
/** Longer than both API servers need to notice a cool-down. */
const accountCooldownSeconds = 60;

beforeAll(async () => {
  [a, b] = await Promise.all([startChatUpstream(), startChatUpstream()]);
  gateway = await startGateway({
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
const channelId = async (name: string): Promise<string> => {
  const [row] = await gateway.database.query<{ id: string }>('test-channel', 'select id from channel where name = $1', [
    name,
  ]);
  if (!row) throw new Error(`There is no channel ${name}`);
  return row.id;
};
const trip = async (name: string, trippedSeconds: number, modelId = chatModel): Promise<void> => {
  const call = { channelId: await channelId(name), modelId, ageSeconds: 0, reason: 'timeout', trip: true };
  await noteChannelFailure(gateway.database, call, { failuresMax: 5, trippedSeconds, trippedMaxSeconds: 300 });
};
/** Trips the channel and lets the trip expire, so that the next call is the probe. */
const awaitsProbe = async (name: string): Promise<void> => {
  await trip(name, 0.001);
  await sleep(5);
  await untilHealthIsCurrent();
};
/** Another chat model of both channels. A trip for this model does not affect the model of the tests. */
const otherModel = 'deepseek-v3.2';
/** Waits until both API servers have the current health: they skip a channel that is tripped here, after all other changes. */
const untilHealthIsCurrent = async (): Promise<void> => {
  await trip('sandbox-a-openai', 300, otherModel);
  await settled(() => a.chats.length === 0, otherModel);
  for (const upstream of [a, b]) upstream.chats.length = 0;
};
const healthOf = async (name: string) => {
  const [row] = await gateway.database.query<{
    modelId: string;
    trips: number;
    unavailableFor: number;
    trippedFor: number;
  }>(
    'test-health',
    `select h.model_id, h.trips, extract(epoch from h.unavailable_until - clock_timestamp())::float8 as unavailable_for,
       extract(epoch from h.unavailable_until - h.tripped_at)::float8 as tripped_for
     from channel_health h join channel c on c.id = h.channel_id where c.name = $1 and h.model_id <> $2`,
    [name, otherModel],
  );
  return row;
};
/** Sends chats to both API servers until the condition holds for the upstream calls. */
const settled = (is: () => boolean, model = chatModel): Promise<unknown> =>
  eventually(async () => {
    for (const upstream of [a, b]) upstream.chats.length = 0;
    await all(6, (n) => ask({ baseUrl: gateway.baseUrls[n % 2], model }));
    return is();
  });
const alarmsInList = async (): Promise<unknown[]> => {
  const written: string[] = [];
  expect(await cli(['channels', 'list', '--json'], gateway.env, (text) => written.push(text))).toBe(0);
  const { data } = Listed.parse(JSON.parse(written.join('')));
  return data.flatMap(({ name, reasons }) =>
    reasons.filter(({ kind }) => kind === 'alarm').map(({ model, reason }) => ({ name, model, reason })),
  );
};
const Listed = z.object({
  data: z.array(
    z.object({
      name: z.string(),
      reasons: z.array(z.object({ kind: z.string(), model: z.string(), reason: z.string().nullable() })),
    }),
  ),
});
const alarmLines = async (reason: string): Promise<number> => {
  const logs = await Promise.all(
    ['api-1', 'api-2'].map((name) => readFile(join(gateway.logFolder, `${name}.log`), 'utf8')),
  );
  return logs
    .join('\n')
    .split('\n')
    .filter((line) => line.includes('"alarm":true') && line.includes(`"reason":"${reason}"`)).length;
};

// The first of the file, so that no other test has failed calls.
describe('the history of a channel', () => {
  it('has how the calls of both API servers ended, and how long the successful ones took', async () => {
    const chats = (count: number) => all(count, (n) => ask({ baseUrl: gateway.baseUrls[n % 2] }));
    a.serve(goodAnswer(200));
    expect(countVerdicts(await chats(40))).toEqual({ 200: 40 });
    a.serve(ownError(400, 'invalid_prompt'));
    await chats(2);
    a.serve(ownError(500, 'server_error'));
    expect(countVerdicts(await chats(3))).toEqual({ 200: 3 });
    const id = await channelId('sandbox-a-openai');
    const read = () => readChannelHistory({ db: gateway.database }, { channel: id, hours: 24 });
    const sum = (points: HistoryPoint[], of: 'ok' | 'refused' | 'transient' | 'unknown') =>
      points.reduce((total, point) => total + point[of], 0);
    await eventually(async () => sum((await read()).points, 'transient') === 3);
    const { points } = await read();
    // The servers also called it before the test.
    expect(sum(points, 'ok')).toBeGreaterThanOrEqual(40);
    expect([sum(points, 'refused'), sum(points, 'unknown')]).toEqual([2, 0]);
    expect(Math.max(...points.map(({ p95Ms }) => p95Ms ?? 0))).toBeGreaterThan(190);
  });
});

describe('a channel that fails under a hundred chats a second', () => {
  it('causes no failed chat, gets no further chats, and is available again after the job has probed it', async () => {
    await setWeights(3, 1);
    a.serve(goodAnswer(100));
    b.serve(goodAnswer(100));
    let going = true;
    const answers: Promise<Answer>[] = [];
    /** Twelve parallel clients send about a hundred chats a second, and fewer if the answers take longer. */
    const load = Promise.allSettled(
      Array.from({ length: 12 }, async (_, index) => {
        while (going) {
          // Each chat is a conversation of its own, so that both channels are drawn.
          const answer = ask({ baseUrl: gateway.baseUrls[index % 2], text: `hello ${answers.length}` });
          answers.push(answer);
          await answer;
        }
      }),
    );
    let afterwards = Infinity;
    try {
      await eventually(() => Promise.resolve(a.chats.length > 100));
      await a.die();
      await eventually(async () => (await healthOf('sandbox-a-openai'))?.trips === 1);
      // The job probes the dead channel with a free call, and the channel stays tripped.
      expect((await runByCall(gateway, 'check-api-channels')).body).toMatchObject({
        summary: { reopened: 0, failed: 1 },
      });
      // Each process caches the channels and may still call the dead channel until it reads them again.
      await eventually(async () => {
        const drawn = await all(40, (n) => ask({ baseUrl: gateway.baseUrls[n % 2], text: `hello ${n}` }));
        return drawn.every(({ headers }) => headers.get('x-tollgate-attempts') === '1');
      });
      afterwards = answers.length;
      await Promise.allSettled(answers);
      // The job and a loop of the worker probe it now. Which of them is first is not promised.
      let probesBeforeChats: number | undefined;
      a.serve((request, response) => {
        probesBeforeChats ??= a.probes;
        goodAnswer(100)(request, response);
      });
      Object.assign(a, { chats: [], probes: 0 });
      await a.revive();
      await eventually(() => Promise.resolve(answers.length > afterwards + 50));
      expect((await runByCall(gateway, 'check-api-channels')).body).toMatchObject({ summary: { failed: 0 } });
      await eventually(() => Promise.resolve(a.chats.length > 100));
      expect(probesBeforeChats).toBeGreaterThan(0);
      expect(await healthOf('sandbox-a-openai')).toMatchObject({ trips: 0 });
    } finally {
      going = false;
      await load;
    }
    const received = await Promise.all(answers);
    expect(countVerdicts(received)).toEqual({ 200: received.length });
    const attempts = received.map(({ headers }) => headers.get('x-tollgate-attempts'));
    expect([...new Set(attempts)].sort()).toEqual(['1', '2']);
    expect(new Set(attempts.slice(afterwards))).toEqual(new Set(['1']));
  });
});

describe('a tripped channel', () => {
  it('gets one chat when the trip expires, and more chats only after an answer to the first', async () => {
    await awaitsProbe('sandbox-a-openai');
    let answer = (): void => undefined;
    a.serve((request, response) => (answer = () => goodAnswer(0)(request, response)));
    const chats = all(30, (n) => ask({ baseUrl: gateway.baseUrls[n % 2] }));
    await eventually(() => Promise.resolve(a.chats.length + b.chats.length >= 30));
    expect(a.chats).toHaveLength(1);
    a.serve();
    answer();
    expect(countVerdicts(await chats)).toEqual({ 200: 30 });
    await eventually(async () => ((await ask()).status === 200 ? a.chats.length > 1 : false));
  });

  it('stays tripped for longer if the probe fails, and the probing chat succeeds in a second attempt', async () => {
    await awaitsProbe('sandbox-a-openai');
    a.serve(ownError(503, 'busy'));
    const answer = await ask();
    expect([verdictOf(answer), answer.headers.get('x-tollgate-attempts')]).toEqual(['200', '2']);
    const trippedAgain = await eventually(async () => {
      const health = await healthOf('sandbox-a-openai');
      return health?.trips === 2 && health;
    });
    expect(trippedAgain.trippedFor).toBeCloseTo(120);
    expect(countVerdicts(await all(10, () => ask()))).toEqual({ 200: 10 });
    expect(a.chats).toHaveLength(1);
  });

  it('is not blocked by a chat that was refused before the channel was called', async () => {
    const poor = await gateway.project({ credits: 0 });
    await awaitsProbe('sandbox-a-openai');
    expect(verdictOf(await ask({ apiKey: poor.apiKey }))).toBe('402 insufficient_credits');
    expect(a.chats).toHaveLength(0);
    expect(verdictOf(await ask())).toBe('200');
    expect([a.chats.length, b.chats.length]).toEqual([1, 0]);
  });

  it('is not blocked by a chat whose admission failed', async () => {
    const sql = (name: string, text: string) => gateway.database.query(`test-admission-${name}`, text);
    await awaitsProbe('sandbox-a-openai');
    await sql(
      'break',
      `create function out_of_order() returns trigger language plpgsql as $$ begin raise 'out of order'; end $$`,
    );
    await sql(
      'holds',
      'create trigger out_of_order before insert on hold for each row execute function out_of_order()',
    );
    try {
      expect((await ask()).status).toBe(500);
    } finally {
      await sql('mend', 'drop function out_of_order cascade');
    }
    expect(a.chats).toHaveLength(0);
    // The API server releases the probe after it has answered the client.
    await eventually(async () => ((await ask()).status === 200 ? a.chats.length > 0 : false));
  });

  it('is called if all channels are tripped and this one recovers first', async () => {
    await trip('sandbox-a-openai', 300);
    await trip('sandbox-b-openai', 50);
    await untilHealthIsCurrent();
    const first = await ask();
    expect(verdictOf(first)).toBe('200');
    expect([a.chats.length, b.chats.length]).toEqual([0, 1]);
    // The channel answered, so it has recovered.
    await eventually(async () => (await healthOf('sandbox-b-openai'))?.trips === 0);
    expect((await healthOf('sandbox-a-openai'))?.trips).toBe(1);
  });
});

describe('a channel that answers 429', () => {
  it('with Retry-After 12 gets no chat from either API server for twelve seconds, and then again', async () => {
    a.serve(ownError(429, 'rate_limit_exceeded', { 'retry-after': '12' }));
    const answer = await ask();
    expect([verdictOf(answer), answer.headers.get('x-tollgate-attempts')]).toEqual(['200', '2']);
    const [limitedAt] = a.chats;
    a.serve();
    const health = await eventually(() => healthOf('sandbox-a-openai'));
    expect(health.modelId).toBe('*');
    expect(health.unavailableFor).toBeLessThanOrEqual(12);
    await settled(() => a.chats.length === 0);
    await eventually(async () => {
      await Promise.all(gateway.baseUrls.map((baseUrl) => ask({ baseUrl })));
      return a.chats.length > 0;
    });
    expect((a.chats[0] ?? 0) - (limitedAt ?? 0)).toBeGreaterThanOrEqual(11_990);
  });

  it('leads to 503 if all channels of the model cool down, with the time until the first is available', async () => {
    for (const [name, seconds] of [
      ['sandbox-a-openai', 300],
      ['sandbox-b-openai', 200],
    ] as const)
      await coolDownChannel(gateway.database, {
        channelId: await channelId(name),
        modelId: '*',
        seconds,
        reason: 'rate_limit',
      });
    const answer = await eventually(async () => {
      const reply = await ask();
      return reply.status === 503 && reply;
    });
    expect(verdictOf(answer)).toBe('503 no_channel_available');
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(100);
    expect(Number(answer.headers.get('retry-after'))).toBeLessThanOrEqual(200);
  });
});

describe("a channel that refuses the gateway's account", () => {
  it.each<[string, number, string]>([
    ['401', 401, 'invalid_api_key'],
    ['an exhausted balance', 429, 'insufficient_quota'],
    ['403, and refuses the free call too,', 403, 'forbidden'],
  ])(
    'by %s cools down with an alarm, and the client gets the answer of the next channel',
    async (_case, status, code) => {
      const before = await alarmLines('account');
      a.serve(ownError(status, code));
      a.serveProbes(ownError(status, code));
      const answer = await ask();
      expect([verdictOf(answer), answer.headers.get('x-tollgate-attempts')]).toEqual(['200', '2']);
      await settled(() => a.chats.length === 0);
      await eventually(async () => (await alarmLines('account')) > before);
      expect(await alarmsInList()).toEqual([{ name: 'sandbox-a-openai', model: '*', reason: 'account' }]);
      expect(await alarmLines('account')).toBe(before + 1);
      // After the cool-down the channel is called again, and its success ends the alarm.
      a.serve();
      a.serveProbes();
      await gateway.database.query('test-rested', 'update channel_health set unavailable_until = clock_timestamp()');
      await eventually(async () => ((await ask()).status === 200 ? a.chats.length > 0 : false));
      await eventually(async () => (await ask(), (await alarmsInList()).length === 0));
    },
  );

  it('by 403 stays available without an alarm if its free call succeeds', async () => {
    const [before, bystander] = [await alarmLines('account'), await gateway.project({ credits: 1_000 })];
    await all(4, (n) => ask({ baseUrl: gateway.baseUrls[n % 2], apiKey: bystander.apiKey }));
    a.serve(ownError(403, 'forbidden'));
    a.probes = 0;
    const answers = await all(20, (n) => ask({ baseUrl: gateway.baseUrls[n % 2] }));
    expect(countVerdicts(answers)).toEqual({ 200: 20 });
    await eventually(() => Promise.resolve(a.probes > 0));
    a.serve();
    a.chats.length = 0;
    expect(countVerdicts(await all(4, () => ask({ apiKey: bystander.apiKey })))).toEqual({ 200: 4 });
    expect(a.chats).toHaveLength(4);
    expect(await alarmLines('account')).toBe(before);
    // One for each API server, however many chats met the 403.
    expect(a.probes).toBeLessThanOrEqual(2);
  });

  it('leads to 502 and then 503, never to 401, if all channels refuse the account', async () => {
    a.serve(ownError(401, 'invalid_api_key'));
    b.serve(ownError(402, 'billing'));
    const answer = await ask();
    expect(verdictOf(answer)).toBe('502 upstream_error');
    const next = await eventually(async () => {
      const reply = await ask();
      return reply.status === 503 && reply;
    });
    expect(Number(next.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(Number(next.headers.get('retry-after'))).toBeLessThanOrEqual(accountCooldownSeconds);
  });
});

describe('a channel that does not know the model', () => {
  it('raises an alarm and is followed by the next channel, and the client never gets the 404', async () => {
    a.serve(ownError(404, 'model_not_found'));
    const answer = await ask();
    expect(verdictOf(answer)).toBe('200');
    expect((await attemptsOf(gateway.database, requestIdOf(answer))).map(({ errorClass }) => errorClass)).toEqual([
      'unknown_model',
      null,
    ]);
    await eventually(async () => (await alarmsInList()).length === 1);
    expect(await alarmsInList()).toEqual([{ name: 'sandbox-a-openai', model: chatModel, reason: 'unknown_model' }]);
    await eventually(async () => (await alarmLines('unknown_model')) === 1);
    b.serve(ownError(404, 'model_not_found'));
    expect(verdictOf(await ask())).toBe('502 upstream_error');
  });
});

describe('a video while every channel of its model is tripped', () => {
  it('is accepted, waits and succeeds, also if there are twenty', async () => {
    const modelId = 'kling-2.5-turbo';
    const names = ['sandbox-a', 'sandbox-b', 'sandbox-c'];
    for (const name of names) await trip(name, 3, modelId);
    const taskIds = await all(20, (n) =>
      gateway.accept(project.apiKey, mediaRoutes.video, {
        model: modelId,
        prompt: `a dancer ${n} ${randomUUID()} [[latency=100]]`,
      }),
    );
    const tasks = await Promise.all(taskIds.map((taskId) => gateway.poll(project.apiKey, taskId, { secondsMax: 90 })));
    expect(tasks.map(({ status }) => status)).toEqual(tasks.map(() => 'succeeded'));
    expect(tasks.every(({ attempts }) => attempts === 1)).toBe(true);
    // The first call of each channel was its probe, and each success made it recover.
    for (const name of names) {
      const used = (await gateway.hits('a dancer', 'submit')).some(({ channel }) => channel === name);
      if (used) await eventually(async () => ((await healthOf(name))?.trips ?? 0) === 0);
    }
    expect(
      await claimChannel(
        gateway.database,
        { channelId: await channelId('sandbox-a'), modelId, projectId: project.projectId },
        1,
      ),
    ).toBe(true);
  });
});
