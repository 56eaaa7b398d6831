import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createChannelHistory, type ChannelHistory } from '../../../src/channels/channel-history.ts';
import { readChannelHistory } from '../../../src/services/channels/read-channel-history.ts';
import type { Database } from '../../../src/db/database.ts';
import { purgeHistory } from '../../../src/db/channels/channel-history.ts';
import type { AttemptOutcome } from '../../../src/domain/channels/upstream.ts';
import { createLogger } from '../../../src/platform/observe/logger.ts';
import { commandLine } from '../../support/command-line.ts';
import { createTestHome, type TestHome } from '../../support/home.ts';

let home: TestHome;
let db: Database;
const logger = createLogger('silent', 'test');
/** The counts of one process. */
const newProcess = (): ChannelHistory => createChannelHistory(db, logger);
const scripted = (process: ChannelHistory, channelId: string, attempts: [AttemptOutcome, ms: number][]): void => {
  for (const [outcome, ms] of attempts) process.count(channelId, { outcome, ms });
};
const sums = async (channel: string, hours: number) => {
  const { points } = await readChannelHistory({ db }, { channel, hours });
  const sum = { attempts: 0, ok: 0, refused: 0, transient: 0, unknown: 0 };
  for (const point of points) for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += point[name];
  return sum;
};

beforeAll(async () => {
  home = await createTestHome();
  db = home.db;
  await db.query(
    '',
    `insert into channel (id, name, adapter, base_url, credential, groups)
     select 'chn_' || n, 'channel-' || n, 'openai', 'http://127.0.0.1:1', 'sealed', '{chat}' from generate_series(1, 3) n`,
  );
});
afterAll(() => home?.drop());

describe('the history of a channel', () => {
  it('has the outcomes and the durations of all processes, each process written twice, and none of another channel', async () => {
    const [one, two] = [newProcess(), newProcess()];
    scripted(
      one,
      'chn_1',
      Array.from({ length: 18 }, () => ['ok', 100]),
    );
    scripted(one, 'chn_2', [['unknown', 5]]);
    await one.flush();
    scripted(one, 'chn_1', [
      ['ok', 5_000],
      ['refused', 30],
      ['transient', 30],
    ]);
    scripted(two, 'chn_1', [
      ['ok', 5_000],
      ['transient', 60_000],
      ['unknown', 60_000],
    ]);
    await Promise.all([one.flush(), two.flush()]);
    for (const hours of [1, 24]) {
      expect(await sums('channel-1', hours)).toEqual({ attempts: 24, ok: 20, refused: 1, transient: 2, unknown: 1 });
      expect(await sums('chn_2', hours)).toEqual({ attempts: 1, ok: 0, refused: 0, transient: 0, unknown: 1 });
      expect(await sums('channel-3', hours)).toEqual({ attempts: 0, ok: 0, refused: 0, transient: 0, unknown: 0 });
    }
    const { points, bucketSeconds } = await readChannelHistory({ db }, { channel: 'chn_1', hours: 24 });
    // The hour may turn between two writes; then this test has its numbers in two points.
    const shown = points.filter(({ ok }) => ok >= 18).at(-1);
    expect([bucketSeconds, points.length]).toEqual([3_600, 24]);
    expect(Math.abs((shown?.p50Ms ?? 0) / 100 - 1)).toBeLessThan(0.05);
    if (shown?.ok === 20) expect(Math.abs((shown.p95Ms ?? 0) / 5_000 - 1)).toBeLessThan(0.05);
  });

  it('is shown by minutes up to three hours, with a point for each, the last of which has just begun', async () => {
    const { points, bucketSeconds } = await readChannelHistory({ db }, { channel: 'chn_3', hours: 3 });
    expect([bucketSeconds, points.length]).toEqual([60, 180]);
    expect(points[0]).toEqual({
      at: expect.any(Number),
      attempts: 0,
      ok: 0,
      refused: 0,
      transient: 0,
      unknown: 0,
      p50Ms: null,
      p95Ms: null,
    });
    expect(Math.abs((points.at(-1)?.at ?? 0) + 30 - Date.now() / 1_000)).toBeLessThan(60);
  });

  it('is printed by the command line, which refuses an unknown channel and more than 30 days', async () => {
    const { done, refused, tollgate } = commandLine(() => home.settings);
    expect(await done('channels', 'history', 'channel-2')).toMatchObject({
      channel_id: 'chn_2',
      name: 'channel-2',
      hours: 24,
      bucket_seconds: 3_600,
      data: expect.arrayContaining([expect.objectContaining({ attempts: 1, unknown: 1, p50_ms: null })]),
    });
    expect(await refused('channels', 'history', 'nobody')).toContain('no channel nobody');
    expect((await tollgate('channels', 'history', 'channel-2', '--hours', '721')).code).toBe(2);
  });

  it('waits while the database refuses it, and is deleted when it is older than any chart shows', async () => {
    const process = newProcess();
    await db.query('', 'alter table channel_history rename to gone');
    scripted(process, 'chn_3', [['ok', 10]]);
    await process.flush();
    await db.query('', 'alter table gone rename to channel_history');
    scripted(process, 'chn_3', [['transient', 10]]);
    await process.flush();
    expect(await sums('chn_3', 1)).toEqual({ attempts: 2, ok: 1, refused: 0, transient: 1, unknown: 0 });

    // More rows than one process keeps, counted before the newest ones, which are counted while the write is under way.
    await db.query('', 'alter table channel_history rename to gone');
    for (let n = 0; n < 2_500; n += 1) process.count(`old_${n}`, { outcome: 'ok', ms: 10 });
    const refusedWrite = process.flush();
    await Promise.resolve();
    scripted(process, 'chn_3', [['unknown', 10]]);
    await refusedWrite;
    await db.query('', 'alter table gone rename to channel_history');
    await process.flush();
    expect(await sums('chn_3', 1)).toMatchObject({ attempts: 3, unknown: 1 });
    const dropped = `select 2500 - count(distinct channel_id)::int as n from channel_history where channel_id like 'old%'`;
    expect(await db.query('', dropped)).toEqual([{ n: 1 }]);
    await db.query('', `delete from channel_history where channel_id like 'old%'`);

    const days = { minuteDays: 2, hourDays: 31 };
    expect(await purgeHistory(db, days, 100)).toBe(0);
    await db.query('', `update channel_history set at = at - interval '3 days'`);
    expect(await purgeHistory(db, days, 2)).toBe(2);
    await purgeHistory(db, days, 100);
    const spans = () => db.query<{ span: string }>('', 'select distinct span from channel_history');
    expect(await spans()).toEqual([{ span: 'hour' }]);
    await db.query('', `update channel_history set at = at - interval '30 days'`);
    await purgeHistory(db, days, 100);
    expect(await spans()).toEqual([]);
  });
});
