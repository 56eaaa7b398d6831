import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createChannelCache, type ChannelCache } from '../../src/channels/channel-cache.ts';
import { testConfig } from '../support/test-config.ts';
import {
  claimChannel,
  noteChannelUse,
  listChannels,
  noteChannelFailure,
  noteChannelSuccess,
  raiseChannelAlarm,
  releaseChannel,
  coolDownChannel,
} from '../../src/db/channels/channels.ts';
import type { Database } from '../../src/db/database.ts';
import { healthNoteOf, noteOutcome, type OutcomeWindow } from '../../src/domain/channels/channel-health.ts';
import type { Attempt, ErrorClass } from '../../src/domain/channels/upstream.ts';
import { alarmKind, type LoggedAlarm } from '../../src/platform/observe/alarms.ts';
import { createLogger } from '../../src/platform/observe/logger.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let books: TestDatabase;
let db: Database;
beforeAll(async () => {
  books = await createTestDatabase();
  db = await books.open();
});
afterAll(() => books?.drop());

const channelId = 'ch_1';
const modelId = 'model-a';
const bounds = { failuresMax: 5, trippedSeconds: 30, trippedMaxSeconds: 300 };

beforeEach(async () => {
  await db.query('', 'delete from channel');
  await db.query(
    '',
    `insert into channel (id, name, adapter, base_url, credential, groups, priority, weight, enabled)
     values ('${channelId}', 'one', 'openai', 'http://127.0.0.1:1', 'sealed', '{chat}', 1, 1, true)`,
  );
});

const fails = (over: { ageSeconds?: number; trip?: boolean; modelId?: string } = {}) =>
  noteChannelFailure(db, { channelId, modelId, ageSeconds: 0, reason: 'connect', trip: false, ...over }, bounds);
const succeeds = (ageSeconds = 0) => noteChannelSuccess(db, { channelId, modelId, ageSeconds });
/** For a probe of two minutes. */
const claims = (projectId = 'prj_a') => claimChannel(db, { channelId, modelId, projectId }, 120);
/** Moves the breaker's times into the past instead of waiting. */
const later = (seconds: number) =>
  db.query(
    '',
    `update channel_health set unavailable_until = unavailable_until - make_interval(secs => $1),
       tripped_at = tripped_at - make_interval(secs => $1), probe_until = probe_until - make_interval(secs => $1),
       alarm_at = alarm_at - make_interval(secs => $1)`,
    [seconds],
  );
/** The seconds for which a trip, a probe or a cool-down stops calls; 0 if the channel is available. */
const unavailableFor = async (model = modelId): Promise<number> => {
  const until = await unavailableUntil(model);
  if (until === null) return 0;
  const [row] = await db.query<{ since: number }>(
    '',
    `select extract(epoch from case when probe_until is null then coalesce(tripped_at, updated_at) else updated_at end)::float8 * 1000 as since
     from channel_health where model_id = $1`,
    [model],
  );
  return Math.round((until - (row?.since ?? 0)) / 1000);
};
const unavailableUntil = async (model: string): Promise<number | null> => {
  const { channels } = await listChannels(db);
  return channels[0]?.unavailableUntil[model] ?? null;
};
const times = async <T>(count: number, act: () => Promise<T>): Promise<T[]> => {
  const answers: T[] = [];
  for (let n = 0; n < count; n++) answers.push(await act());
  return answers;
};

describe('the circuit breaker of a channel and model', () => {
  it('trips at the fifth failure in a row, for thirty seconds, and for that model alone', async () => {
    expect(await times(5, fails)).toEqual([false, false, false, false, true]);
    expect(await unavailableFor()).toBe(30);
    expect(await claims()).toBe(false);
    expect(await claimChannel(db, { channelId, modelId: 'model-b', projectId: 'prj_a' }, 10)).toBe(true);
  });

  it('starts counting again after a success in between', async () => {
    await times(4, fails);
    expect(await succeeds()).toBe(true);
    expect(await times(4, fails)).toEqual([false, false, false, false]);
    expect(await claims()).toBe(true);
  });

  it('trips once if twenty failures are recorded concurrently', async () => {
    const trips = await Promise.all(Array.from({ length: 20 }, () => fails()));
    expect(trips.filter(Boolean)).toHaveLength(1);
    expect(await unavailableFor()).toBe(30);
  });

  it('allows one probe after its time, and the next one once that probe is released or expires', async () => {
    await fails({ trip: true });
    await later(31);
    const claimed = await Promise.all(Array.from({ length: 12 }, () => claims()));
    expect(claimed.filter(Boolean)).toHaveLength(1);
    expect(await unavailableFor()).toBe(120);
    await later(121);
    expect([await claims(), await claims()]).toEqual([true, false]);
    await releaseChannel(db, { channelId, modelId });
    expect([await claims(), await claims()]).toEqual([true, false]);
  });

  it('gives a probe to another project first if the last one did not succeed', async () => {
    for (const projectId of ['prj_a', 'prj_b'])
      await noteChannelUse(db, { channelId, modelId, projectId }, false, { windowSeconds: 60, usedSeconds: 80 });
    await fails({ trip: true });
    await later(31);
    expect(await claims('prj_a')).toBe(true);
    // It hangs.
    await later(121);
    expect([await claims('prj_a'), await claims('prj_b')]).toEqual([false, true]);
    await releaseChannel(db, { channelId, modelId });
    expect([await claims('prj_b'), await claims('prj_a')]).toEqual([false, true]);
    expect(await fails()).toBe(true);
    await later(61);
    expect(await claims('prj_a')).toBe(false);
    // The other project does not ask.
    await later(10);
    expect(await claims('prj_a')).toBe(true);
    expect(await succeeds()).toBe(true);
    await fails({ trip: true });
    await later(31);
    expect(await claims('prj_a')).toBe(true);
  });

  it('gives every probe to the only project that used the channel in the last ten minutes', async () => {
    await noteChannelUse(db, { channelId, modelId, projectId: 'prj_b' }, false, { windowSeconds: 60, usedSeconds: 80 });
    await db.query('', `update channel_witness set used_at = used_at - interval '11 minutes'`);
    await fails({ trip: true });
    await later(31);
    expect(await claims()).toBe(true);
    await releaseChannel(db, { channelId, modelId });
    expect(await claims()).toBe(true);
  });

  it('stays tripped one step longer after each failed probe, 300 seconds at most', async () => {
    await times(5, fails);
    const lengths = [await unavailableFor()];
    for (let probes = 0; probes < 11; probes++) {
      await later(301);
      expect(await claims()).toBe(true);
      expect(await fails()).toBe(true);
      lengths.push(await unavailableFor());
    }
    expect(lengths).toEqual([30, 60, 90, 120, 150, 180, 210, 240, 270, 300, 300, 300]);
    await later(301);
    await claims();
    expect(await succeeds()).toBe(true);
    expect(await times(5, fails)).toEqual([false, false, false, false, true]);
    expect(await unavailableFor()).toBe(30);
  });

  it('ignores the outcome of every call that began before it tripped', async () => {
    await fails({ trip: true });
    await later(31);
    await claims();
    expect(await fails({ ageSeconds: 400 })).toBe(false);
    expect(await succeeds(400)).toBe(false);
    expect(await claims()).toBe(false);
    expect(await succeeds(2)).toBe(true);
    expect(await claims()).toBe(true);
    expect(await unavailableFor()).toBe(0);
  });

  it('recovers if a call succeeds that was sent while it was tripped, as the last resort', async () => {
    await fails({ trip: true });
    await later(5);
    expect(await succeeds(1)).toBe(true);
    expect(await unavailableFor()).toBe(0);
  });

  it('does not shorten a cool-down, and neither does a success', async () => {
    await coolDownChannel(db, { channelId, modelId: '*', seconds: 60, reason: 'rate_limit' });
    const until = await unavailableUntil('*');
    await times(4, fails);
    await succeeds();
    expect(await claims()).toBe(false);
    expect(until).not.toBeNull();
    expect(await unavailableUntil('*')).toBe(until);
  });
});

describe('an alarm', () => {
  it('is raised once, and again only after a call has succeeded that began after the alarm', async () => {
    const raise = () => raiseChannelAlarm(db, { channelId, modelId: '*', alarm: 'account' });
    expect([await raise(), await raise()]).toEqual([true, false]);
    await later(1_000);
    expect(await succeeds(1_500)).toBe(false);
    expect(await raise()).toBe(false);
    expect(await succeeds(500)).toBe(true);
    expect(await raise()).toBe(true);
  });
});

describe('the share of failures in the last minute', () => {
  const judged = (outcomes: string): boolean[] => {
    const window: OutcomeWindow = { outcomes: [] };
    return [...outcomes].map((one, index) => noteOutcome(window, one === 'f', index * 10));
  };

  it('is too large if more than half of at least ten calls failed', () => {
    expect(judged('sfsfsfsfs').at(-1)).toBe(false);
    expect(judged('fffff')).not.toContain(true);
    expect(judged('sfsfsfsfsf').at(-1)).toBe(false);
    expect(judged('sfsfsfsfff').at(-1)).toBe(true);
    expect(judged('ffffffffff').indexOf(true)).toBe(9);
  });

  it('is judged only when a call fails, and ignores older calls', () => {
    expect(judged('ffffffs').at(-1)).toBe(false);
    const window: OutcomeWindow = { outcomes: [] };
    for (let n = 0; n < 9; n++) noteOutcome(window, true, n);
    expect(noteOutcome(window, true, 60_020)).toBe(false);
    expect(window.outcomes).toHaveLength(1);
  });

  it('keeps at most 200 outcomes of a busy channel', () => {
    const window: OutcomeWindow = { outcomes: [] };
    for (let n = 0; n < 5_000; n++) noteOutcome(window, false, n / 100);
    expect(window.outcomes).toHaveLength(200);
  });
});

describe('the effect of an error class on the health of its channel', () => {
  it.each<[ErrorClass, string]>([
    ['connect', 'failure'],
    ['provider_error', 'failure'],
    ['unreadable', 'failure'],
    ['interrupted', 'failure'],
    ['redirect', 'failure'],
    ['rate_limit', 'rate_limit'],
    ['account', 'account'],
    ['unknown_model', 'unknown_model'],
    ['rejected', 'neutral'],
    ['content_policy', 'neutral'],
    ['job_failed', 'neutral'],
    ['forbidden', 'doubtful'],
  ])('%s is %s', (errorClass, kind) => {
    expect(healthNoteOf({ kind: 'transient', errorClass, detail: '' }).kind).toBe(kind);
  });

  it.each([
    ['unanswered', 'doubtful'],
    ['answering', 'neutral'],
  ] as const)('of a call that timed out %s is %s', (timedOut, kind) => {
    const attempt = { kind: 'unknown', errorClass: 'interrupted', detail: '', timedOut } as const;
    expect(healthNoteOf(attempt).kind).toBe(kind);
  });
});

describe('the channel cache', () => {
  const config = testConfig({
    DATABASE_URL: 'postgres://127.0.0.1/none',
    KEY_PEPPERS: `p1:${Buffer.alloc(32, 1).toString('base64')}`,
    MASTER_KEYS: `m1:${Buffer.alloc(32, 2).toString('base64')}`,
    RATE_LIMIT_REST_MAX_SECONDS: '60',
  });
  const alarms: string[] = [];
  const probe = () => Promise.resolve(null);
  const logs: unknown[] = [];
  const onAlarm = (alarm: LoggedAlarm): void => void alarms.push(alarmKind(alarm).name);
  const logger = createLogger('info', 'test', { write: (line) => void logs.push(JSON.parse(line)) }, onAlarm);
  const newCache = (): ChannelCache => createChannelCache(db, 0, config.breaker, { logger, probe });
  const failed = (errorClass: ErrorClass, retryAfterSeconds?: number): Attempt<unknown> => ({
    kind: 'transient',
    errorClass,
    detail: '',
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  });
  const good: Attempt<unknown> = { kind: 'ok', value: null };
  const call = { modelId, projectId: 'prj_1' };
  const drawn = async (cache: ChannelCache) => {
    const channel = await cache.find(channelId);
    if (!channel) throw new Error('there is no channel');
    return channel;
  };
  const note = async (cache: ChannelCache, attempt: Attempt<unknown>, startedAt = performance.now()) =>
    cache.note(await drawn(cache), { ...call, startedAt }, attempt);

  it('trips a channel if more than half of ten calls fail, although no five in a row do', async () => {
    const cache = newCache();
    for (const one of 'ffsffsffsf') await note(cache, one === 'f' ? failed('connect') : good);
    expect(await unavailableFor()).toBe(30);
    expect(logs).toContainEqual(expect.objectContaining({ channel: 'one', model: modelId, reason: 'connect' }));
  });

  it('does not trip a recovered channel again for failures that it counted before the trip', async () => {
    const cache = newCache();
    const before = performance.now();
    for (let n = 0; n < 5; n++) await note(cache, failed('connect'));
    // Calls that were running when it tripped end now.
    for (let n = 0; n < 12; n++) await note(cache, failed('interrupted'), before);
    await later(31);
    const probe = await cache.claim(await drawn(cache), call);
    expect(probe?.id).toBe(channelId);
    await note(cache, good);
    await note(cache, failed('connect'));
    expect(await unavailableFor()).toBe(0);
  });

  it('does not trip a recovered channel again for failures of calls that tried it all the same while it was tripped', async () => {
    const cache = newCache();
    await fails({ trip: true });
    for (let n = 0; n < 9; n++) await note(cache, failed('provider_error'));
    await later(31);
    expect(await cache.claim(await drawn(cache), call)).not.toBeNull();
    await note(cache, good);
    for (let n = 0; n < 3; n++) await note(cache, failed('provider_error'));
    expect(await unavailableFor()).toBe(0);
  });

  it('does not draw a channel for a model that its provider does not know, until a call of last resort succeeds', async () => {
    const cache = newCache();
    await note(cache, failed('unknown_model'));
    expect(await unavailableFor()).toBe(300);
    const channel = await drawn(cache);
    expect(channel.alarms).toEqual({ [modelId]: 'unknown_model' });
    expect(await cache.claim(channel, call)).toBeNull();
    expect(await cache.claim(channel, { ...call, modelId: 'model-b' })).not.toBeNull();
    await note(cache, good);
    expect(await unavailableFor()).toBe(0);
    expect((await drawn(cache)).alarms).toEqual({});
  });

  it('is not kept from a model by the 404s of one project while others get answers, but has an alarm', async () => {
    const cache = newCache();
    const by = (projectId: string, attempt: Attempt<unknown>) =>
      drawn(cache).then((channel) =>
        cache.note(channel, { modelId, projectId, startedAt: performance.now() }, attempt),
      );
    await by('prj_2', good);
    await by('prj_1', failed('unknown_model'));
    expect(await unavailableFor()).toBe(0);
    expect((await drawn(cache)).alarms).toEqual({ [modelId]: 'unknown_model' });
    await by('prj_2', failed('unknown_model'));
    expect(await unavailableFor()).toBe(300);
  });

  it('lets the next call probe if the probe is refused because of the request', async () => {
    const attempt: Attempt<unknown> = { kind: 'refused', code: 'upstream_failed', errorClass: 'rejected', detail: '' };
    const cache = newCache();
    await fails({ trip: true });
    await later(31);
    expect(await cache.claim(await drawn(cache), call)).not.toBeNull();
    const channel = { ...(await drawn(cache)), trippedModels: [modelId] };
    await cache.note(channel, { ...call, startedAt: performance.now() }, attempt);
    expect(await cache.claim(channel, call)).not.toBeNull();
  });

  it('stays tripped one step longer if its probe is not answered, however often the channels are read meanwhile', async () => {
    const unanswered: Attempt<unknown> = {
      kind: 'unknown',
      errorClass: 'interrupted',
      detail: '',
      timedOut: 'unanswered',
    };
    const cache = newCache();
    await fails({ trip: true });
    await later(31);
    const probed = await cache.claim(await drawn(cache), call);
    if (!probed) throw new Error('the probe was not claimed');
    const startedAt = performance.now();
    await cache.list();
    await cache.note(probed, { ...call, startedAt }, unanswered);
    expect(await unavailableFor()).toBe(60);
  });

  it('refuses a claim on a channel that was tripped or disabled since the draw', async () => {
    const cache = newCache();
    const channel = await drawn(cache);
    await fails({ trip: true });
    expect(await cache.claim(channel, call)).toBeNull();
    await db.query('', 'delete from channel_health');
    expect(await cache.claim(channel, call)).not.toBeNull();
    await db.query('', 'update channel set enabled = false');
    expect(await cache.claim(channel, call)).toBeNull();
  });

  it('cools a channel down for the time that a 429 asks for, within bounds, and keeps the longer cool-down', async () => {
    const cache = newCache();
    await note(cache, failed('rate_limit'));
    expect(await unavailableFor('*')).toBe(5);
    await note(cache, failed('rate_limit', 7));
    expect(await unavailableFor('*')).toBe(7);
    await note(cache, failed('rate_limit', 3_600));
    expect(await unavailableFor('*')).toBe(60);
    const until = await unavailableUntil('*');
    await note(cache, failed('rate_limit', 1));
    expect(await unavailableUntil('*')).toBe(until);
  });

  it('cools a channel down for five minutes if our account is refused, and raises the alarm once', async () => {
    alarms.length = 0;
    const cache = newCache();
    await note(cache, failed('account'));
    await note(cache, failed('account'));
    expect(alarms).toEqual(['account']);
    expect(logs).toContainEqual(expect.objectContaining({ alarm: true, channel: 'one', reason: 'account' }));
    expect(await unavailableFor('*')).toBe(300);
  });
});
