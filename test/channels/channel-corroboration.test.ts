import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createChannelCache, type ChannelCache } from '../../src/channels/channel-cache.ts';
import { testConfig } from '../support/test-config.ts';
import type { Database } from '../../src/db/database.ts';
import { purgeChannelCorroborations } from '../../src/db/scheduled-jobs/retention.ts';
import type { Attempt } from '../../src/domain/channels/upstream.ts';
import { alarmKind, type LoggedAlarm } from '../../src/platform/observe/alarms.ts';
import { createLogger } from '../../src/platform/observe/logger.ts';
import { rowsOf, run } from '../db/books.ts';
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
let probes = 0;
let alarms: string[] = [];
/** The answer of the provider's free call. */
let probed: Attempt<true>;

beforeEach(async () => {
  await db.query('', 'delete from channel');
  await db.query(
    '',
    `insert into channel (id, name, adapter, base_url, credential, groups, priority, weight, enabled)
     values ('${channelId}', 'one', 'openai', 'http://127.0.0.1:1', 'sealed', '{chat}', 1, 1, true)`,
  );
  probes = 0;
  alarms = [];
  probed = { kind: 'ok', value: true };
});

const config = testConfig({
  DATABASE_URL: 'postgres://127.0.0.1/none',
  KEY_PEPPERS: `p1:${Buffer.alloc(32, 1).toString('base64')}`,
  MASTER_KEYS: `m1:${Buffer.alloc(32, 2).toString('base64')}`,
});
const onAlarm = (alarm: LoggedAlarm): void => void alarms.push(alarmKind(alarm).name);
const logger = createLogger('error', 'test', { write: () => undefined }, onAlarm);
/** The cache of one process. */
const newProcess = (): ChannelCache =>
  createChannelCache(db, 0, config.breaker, {
    logger,
    probe: async () => {
      probes += 1;
      return Promise.resolve(probed);
    },
  });

const good: Attempt<unknown> = { kind: 'ok', value: null };
const timedOut: Attempt<unknown> = {
  kind: 'transient',
  errorClass: 'interrupted',
  detail: 'timeout',
  timedOut: 'unanswered',
};
const slow: Attempt<unknown> = { ...timedOut, detail: 'HTTP 200, timed_out', status: 200, timedOut: 'answering' };
const forbidden: Attempt<unknown> = { kind: 'transient', errorClass: 'forbidden', detail: 'HTTP 403', status: 403 };
const refusedConnection: Attempt<unknown> = { kind: 'transient', errorClass: 'connect', detail: 'ECONNREFUSED' };

interface Use {
  by: string;
  model?: string;
  times?: number;
  startedAt?: number;
}
const note = async (
  process: ChannelCache,
  attempt: Attempt<unknown>,
  { by, model = modelId, times = 1, startedAt }: Use,
): Promise<void> => {
  for (let n = 0; n < times; n++) {
    const channel = await process.find(channelId);
    if (!channel) throw new Error('there is no channel');
    await process.note(channel, { modelId: model, projectId: by, startedAt: startedAt ?? performance.now() }, attempt);
  }
};
/** The model of a trip, or `*` for a cool-down of the whole channel. */
const unavailable = async (): Promise<string[]> => {
  const { channels, nowMs } = await newProcess().list();
  return Object.entries(channels[0]?.unavailableUntil ?? {})
    .filter(([, until]) => until > nowMs)
    .map(([model]) => model);
};
/** Moves what is known about uses into the past instead of waiting. */
const later = (seconds: number) =>
  db.query(
    '',
    `update channel_witness set used_at = used_at - make_interval(secs => $1), failed_at = failed_at - make_interval(secs => $1)`,
    [seconds],
  );

describe.each([
  ['timeouts', timedOut],
  ['403s without a reason', forbidden],
])('%s of one project', (_name, failure) => {
  it('do not trip a channel that another project used in the last minute, however many there are', async () => {
    const process = newProcess();
    await note(process, good, { by: 'prj_b' });
    await note(process, failure, { by: 'prj_a', times: 60 });
    expect(await unavailable()).toEqual([]);
  });

  it('do not trip a channel that another project uses through another process', async () => {
    await note(newProcess(), good, { by: 'prj_b' });
    await note(newProcess(), failure, { by: 'prj_a', times: 60 });
    expect(await unavailable()).toEqual([]);
  });

  it('trip a channel that this project alone used in the last minute', async () => {
    await note(newProcess(), good, { by: 'prj_b' });
    await later(90);
    await note(newProcess(), failure, { by: 'prj_a', times: 5 });
    expect(await unavailable()).toEqual([modelId]);
  });

  it('trip a channel if calls of another project fail in the same way', async () => {
    const [one, two] = [newProcess(), newProcess()];
    await note(one, good, { by: 'prj_b' });
    await note(two, good, { by: 'prj_a' });
    for (let n = 0; n < 5; n++) {
      await note(one, failure, { by: 'prj_a' });
      await note(two, failure, { by: 'prj_b' });
    }
    expect(await unavailable()).toEqual([modelId]);
  });

  it('do not trip a channel on which the other project succeeded after its own failure', async () => {
    const process = newProcess();
    await note(process, good, { by: 'prj_b' });
    await note(process, failure, { by: 'prj_b' });
    await note(process, good, { by: 'prj_b' });
    await note(process, failure, { by: 'prj_a', times: 60 });
    expect(await unavailable()).toEqual([]);
  });

  it('do not trip a channel for a failure of another project that is older than a minute', async () => {
    const process = newProcess();
    await note(process, good, { by: 'prj_a' });
    await note(process, failure, { by: 'prj_b' });
    await later(61);
    await note(process, failure, { by: 'prj_a', times: 60 });
    expect(await unavailable()).toEqual([]);
  });
});

describe('a channel', () => {
  it('trips by timeouts for their model only', async () => {
    const process = newProcess();
    await note(process, good, { by: 'prj_b', model: 'model-b' });
    await note(process, timedOut, { by: 'prj_a', times: 5 });
    expect(await unavailable()).toEqual([modelId]);
  });

  it('does not trip by timeouts after the headers of an answer, also of several projects', async () => {
    const process = newProcess();
    for (let n = 0; n < 20; n++) for (const by of ['prj_a', 'prj_b']) await note(process, slow, { by });
    expect(await unavailable()).toEqual([]);
  });

  it('trips by failed connections of one project, although another project succeeded', async () => {
    const process = newProcess();
    await note(process, good, { by: 'prj_b' });
    await note(process, refusedConnection, { by: 'prj_a', times: 5 });
    expect(await unavailable()).toEqual([modelId]);
  });

  it('does not count failures from before a trip as confirmed after it', async () => {
    const process = newProcess();
    for (const by of ['prj_a', 'prj_b', 'prj_a', 'prj_b', 'prj_a']) await note(process, timedOut, { by });
    expect(await unavailable()).toEqual([modelId]);
    // A call that was running ends now.
    await note(process, timedOut, { by: 'prj_b', startedAt: performance.now() - 10_000 });
    await db.query('', 'delete from channel_health');
    await note(newProcess(), timedOut, { by: 'prj_a', times: 20 });
    expect(await unavailable()).toEqual([]);
  });

  it('lets another project probe if the probe of one project times out', async () => {
    const process = newProcess();
    await note(process, good, { by: 'prj_b' });
    await note(process, refusedConnection, { by: 'prj_b', times: 5 });
    await db.query('', `update channel_health set unavailable_until = clock_timestamp() - interval '1 second'`);
    const channel = await process.find(channelId);
    const claim = (projectId: string) => channel && process.claim(channel, { modelId, projectId });
    expect(await claim('prj_a')).not.toBeNull();
    await note(process, timedOut, { by: 'prj_a' });
    expect(await claim('prj_a')).toBeNull();
    expect(await claim('prj_b')).not.toBeNull();
  });
});

describe('a 403 without a reason', () => {
  it.each<[string, Attempt<true>]>([
    ['401', { kind: 'transient', errorClass: 'account', detail: 'HTTP 401', status: 401 }],
    ['403', { kind: 'transient', errorClass: 'forbidden', detail: 'HTTP 403', status: 403 }],
  ])('cools the channel down with one alarm if its free call answers %s', async (_status, answer) => {
    probed = answer;
    const process = newProcess();
    await note(process, good, { by: 'prj_b' });
    await note(process, forbidden, { by: 'prj_a', times: 3 });
    expect(await unavailable()).toEqual(['*']);
    expect(alarms).toEqual(['account']);
  });

  it.each<[string, Attempt<true>]>([
    ['succeeds', { kind: 'ok', value: true }],
    ['fails for another reason', { kind: 'transient', errorClass: 'connect', detail: 'ECONNREFUSED' }],
  ])('raises no alarm if the free call %s', async (_case, answer) => {
    probed = answer;
    const process = newProcess();
    await note(process, good, { by: 'prj_b' });
    await note(process, forbidden, { by: 'prj_a' });
    expect(await unavailable()).toEqual([]);
    expect(alarms).toEqual([]);
  });

  it('makes one free call, however many arrive together', async () => {
    const process = newProcess();
    await note(process, good, { by: 'prj_b' });
    await Promise.all(Array.from({ length: 50 }, () => note(process, forbidden, { by: 'prj_a' })));
    expect(probes).toBe(1);
  });

  it('raises an alarm for the model if several projects meet it and the free call succeeds', async () => {
    const process = newProcess();
    for (let n = 0; n < 4; n++) for (const by of ['prj_a', 'prj_b']) await note(process, forbidden, { by });
    expect(await unavailable()).toEqual([modelId]);
    expect(alarms).toEqual(['forbidden']);
  });
});

describe('the uses of a channel', () => {
  it('cost one row for a thousand successful calls, and are deleted after their time', async () => {
    const process = newProcess();
    await run(db, 'create sequence written');
    await run(
      db,
      `create function count_write() returns trigger language plpgsql as $$ begin perform nextval('written'); return new; end $$`,
    );
    await run(
      db,
      'create trigger count_writes after insert or update on channel_witness for each row execute function count_write()',
    );
    const channel = await process.find(channelId);
    if (!channel) throw new Error('there is no channel');
    // With one read of the channel, because a use is written again after twenty seconds.
    for (let n = 0; n < 1_000; n++)
      await process.note(channel, { modelId, projectId: 'prj_a', startedAt: performance.now() }, good);
    expect(await rowsOf(db, 'select last_value as n from written where is_called')).toEqual([{ n: 1 }]);
    expect(await purgeChannelCorroborations(db, 3_600, 10)).toBe(0);
    await later(3_601);
    expect(await purgeChannelCorroborations(db, 3_600, 10)).toBe(1);
  });
});
