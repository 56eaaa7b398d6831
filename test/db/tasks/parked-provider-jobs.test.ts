import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { beginAttempt, endAttempt, saveProviderRef, type AttemptMemory } from '../../../src/db/tasks/attempts.ts';
import type { Database } from '../../../src/db/database.ts';
import type { Ledger } from '../../../src/db/ledger/ledger.ts';
import {
  claimPolls,
  hastenPoll,
  markMissing,
  parkProviderJob,
  readAcceptedProviderJob,
  saveProgress,
} from '../../../src/db/tasks/parked-provider-jobs.ts';
import { claimSilentTasks } from '../../../src/db/tasks/tasks.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { admitted, newId, newTask, openBook, openLedger, rowsOf, run, taskEnd, type Book } from '../books.ts';

let scratch: TestDatabase;
let db: Database;
/** The connection pool of another worker. */
let other: Database;
let ledger: Ledger;
let book: Book;
let channelId: string;

beforeAll(async () => {
  scratch = await createTestDatabase();
  db = await scratch.open();
  other = await scratch.open();
  ledger = openLedger(db);
});
beforeEach(async () => {
  book = await openBook(db, { credits: 1_000 });
  channelId = await newChannel();
});
afterAll(() => scratch.drop());

const bounds = { leastSeconds: 5, mostSeconds: 60 };
const claim = (slots: number, database = db, within = bounds) => claimPolls(database, [{ channelId, slots }], within);

async function newChannel(): Promise<string> {
  const id = newId('chn');
  await run(
    db,
    `insert into channel (id, name, adapter, base_url, credential, groups) values ($1, $1, 'fal', 'http://127.0.0.1', 'sealed', '{default}')`,
    [id],
  );
  return id;
}

const begin = (taskId: string, channel = channelId): Promise<AttemptMemory | null> =>
  beginAttempt(db, {
    attemptId: newId('att'),
    taskId,
    channelId: channel,
    fence: newId('fence'),
    submitSeconds: 60,
    costMicroUsd: 0,
    probeSeconds: 10,
    adapter: 'fal',
  });

/** A parked job that the upstream accepted `ageSeconds` ago and whose poll is due for `dueSeconds`. */
async function parkedProviderJob({ ageSeconds = 20, dueSeconds = 1, of = book, channel = channelId } = {}) {
  const { taskId } = await admitted(ledger, newTask(of, 1));
  const held = (await begin(taskId, channel))!;
  await saveProviderRef(db, held, { id: 'job' });
  await run(
    db,
    'update attempt set submitted_at = clock_timestamp() - make_interval(secs => $2::float8) where id = $1',
    [held.attemptId, ageSeconds],
  );
  expect(await parkProviderJob(db, held, of.projectId, bounds)).toBe(true);
  await run(
    db,
    'update attempt set next_poll_at = clock_timestamp() - make_interval(secs => $2::float8) where id = $1',
    [held.attemptId, dueSeconds],
  );
  return { taskId, held };
}

const nextPollOf = async ({ attemptId }: AttemptMemory): Promise<number | null | undefined> =>
  (
    await rowsOf<{ seconds: number | null }>(
      db,
      'select extract(epoch from next_poll_at - clock_timestamp())::float8 as seconds from attempt where id = $1',
      [attemptId],
    )
  )[0]?.seconds;

describe('claiming the polls of parked jobs', () => {
  it('gives each due job to one of several workers, and none before its time', async () => {
    const providerJobs = await Promise.all(Array.from({ length: 30 }, () => parkedProviderJob()));
    const early = await parkedProviderJob({ dueSeconds: -3_600 });
    // So long that no claimed job is due again before the last claim.
    const hour = { leastSeconds: 3_600, mostSeconds: 3_600 };
    const claims = (await Promise.all([db, other, db, other].map((worker) => claim(20, worker, hour)))).flat();
    const rest = await claim(100, db, hour);
    const ids = [...claims, ...rest].map(({ attemptId }) => attemptId);
    expect(ids.sort()).toEqual(providerJobs.map(({ held }) => held.attemptId).sort());
    expect(ids).not.toContain(early.held.attemptId);
    expect(await claim(100)).toEqual([]);
  });

  it.each([
    ['five seconds for a young job', 12, 5],
    ['a tenth of the age', 300, 30],
    ['a minute for an old job', 3_600, 60],
  ])('makes the next poll due after %s, or up to a tenth earlier', async (_which, ageSeconds, expected) => {
    const { held } = await parkedProviderJob({ ageSeconds });
    const [claimed] = await claim(1);
    expect(claimed?.leaseMs).toBeGreaterThanOrEqual(Math.max(0.9 * expected, bounds.leastSeconds) * 1_000);
    expect(claimed?.leaseMs).toBeLessThan((expected + 1) * 1_000);
    expect(await nextPollOf(held)).toBeLessThan(expected + 1);
  });

  it('makes old jobs that are due together due at different times', async () => {
    await Promise.all(Array.from({ length: 40 }, () => parkedProviderJob({ ageSeconds: 3_600 })));
    const leases = (await claim(40)).map(({ leaseMs }) => leaseMs);
    expect(leases).toHaveLength(40);
    expect(Math.max(...leases) - Math.min(...leases)).toBeGreaterThan(2_000);
    expect(new Set(leases.map((ms) => Math.floor(ms / 1_000))).size).toBeGreaterThan(3);
  });

  it('takes the projects of a channel in turn, and the longest due jobs of each first', async () => {
    const crowd = await Promise.all(
      Array.from({ length: 30 }, (_, n) => parkedProviderJob({ dueSeconds: 1_000 + 100 * n })),
    );
    const small = await openBook(db, { credits: 100 });
    const few = await Promise.all([1, 2, 3].map((dueSeconds) => parkedProviderJob({ of: small, dueSeconds })));
    const claimed = await claim(8);
    const byTask = claimed.map(({ taskId }) => taskId);
    expect(byTask.filter((id) => few.some(({ taskId }) => taskId === id))).toHaveLength(3);
    expect(byTask.filter((id) => crowd.slice(-5).some(({ taskId }) => taskId === id))).toHaveLength(5);
  });

  it('takes at most the free places of each channel, also if another channel has many due jobs', async () => {
    const second = await newChannel();
    await Promise.all(Array.from({ length: 10 }, () => parkedProviderJob()));
    const { taskId } = await parkedProviderJob({ channel: second });
    const claimed = await claimPolls(
      db,
      [
        { channelId, slots: 4 },
        { channelId: second, slots: 4 },
      ],
      bounds,
    );
    expect(claimed.filter((providerJob) => providerJob.channelId === channelId)).toHaveLength(4);
    expect(claimed.filter((providerJob) => providerJob.channelId === second)).toMatchObject([{ taskId }]);
  });

  it('waits for no lock, and leaves a locked job to the next claim', async () => {
    const { held, taskId } = await parkedProviderJob();
    await other.transaction('begin', async (query) => {
      await query('', 'select from task where id = $1 for update', [taskId]);
      await query('', 'select from attempt where id = $1 for update', [held.attemptId]);
      expect(await claim(10)).toEqual([]);
    });
    expect(await claim(10)).toMatchObject([{ taskId, wanted: true, missingMs: null }]);
  });
});

describe('a parked job', () => {
  it('belongs to the poller until an activity takes it over, whose fence replaces the old one', async () => {
    const { taskId, held } = await parkedProviderJob();
    const taken = (await begin(taskId))!;
    expect(taken).toMatchObject({ fresh: false, operation: { id: 'job' } });
    expect(await nextPollOf(held)).toBeNull();
    expect(await claim(10)).toEqual([]);
    expect(await parkProviderJob(db, held, book.projectId, bounds)).toBe(false);
    expect(await endAttempt(db, held, { outcome: 'canceled' })).toBe(false);
    expect(await parkProviderJob(db, taken, book.projectId, { ...bounds, leastSeconds: 60 })).toBe(true);
    expect(await nextPollOf(held)).toBeGreaterThan(30);
  });

  it('is parked no longer once its attempt has ended', async () => {
    const { held } = await parkedProviderJob();
    expect(await endAttempt(db, held, { outcome: 'canceled' })).toBe(true);
    expect(await nextPollOf(held)).toBeNull();
    expect(await claim(10)).toEqual([]);
  });

  it.each(['failed', 'canceled'] as const)('is due at once, and unwanted, when its task has %s', async (status) => {
    const { taskId } = await parkedProviderJob({ dueSeconds: -30 });
    await ledger.finishTask(taskEnd(taskId, status));
    expect(await claim(10)).toMatchObject([{ taskId, wanted: false }]);
  });

  it('can be polled earlier than planned', async () => {
    const { taskId, held } = await parkedProviderJob({ dueSeconds: -30 });
    await hastenPoll(db, held.attemptId);
    expect(await claim(10)).toMatchObject([{ taskId }]);
  });

  it('keeps the time since when the upstream no longer knows it, until the upstream knows it again', async () => {
    const { taskId, held } = await parkedProviderJob();
    await markMissing(db, held.attemptId, true);
    await run(db, `update attempt set missing_since = clock_timestamp() - interval '1 minute' where id = $1`, [
      held.attemptId,
    ]);
    await markMissing(db, held.attemptId, true);
    expect((await claim(1))[0]?.missingMs).toBeGreaterThan(59_000);
    const taken = (await begin(taskId))!;
    const accepted = await readAcceptedProviderJob(db, taken);
    expect(accepted?.missingMs).toBeGreaterThan(59_000);
    expect(accepted?.acceptedMs).toBeGreaterThan(19_000);
    expect(await readAcceptedProviderJob(db, held)).toBeNull();
    await markMissing(db, held.attemptId, false);
    expect(await readAcceptedProviderJob(db, taken)).toMatchObject({ missingMs: null });
  });

  it('does not make its task silent', async () => {
    // The tasks of the tests before were seen within half an hour.
    const { taskId } = await parkedProviderJob();
    const { taskId: silentId } = await admitted(ledger, newTask(book, 1));
    await run(db, `update task set last_seen_at = clock_timestamp() - interval '1 hour' where id = any ($1)`, [
      [taskId, silentId],
    ]);
    const silent = await claimSilentTasks(db, { openSeconds: 1_800, silentSeconds: 1_800, limit: 100 });
    expect(silent.map((task) => task.taskId)).toEqual([silentId]);
  });
});

describe('the progress of many tasks', () => {
  it('is written by one statement, and not for a task that has ended', async () => {
    const [running, over] = [await parkedProviderJob(), await parkedProviderJob()];
    await ledger.finishTask(taskEnd(over.taskId, 'failed'));
    await saveProgress(
      db,
      new Map([
        [running.taskId, 40],
        [over.taskId, 50],
      ]),
    );
    const rows = await rowsOf(db, 'select id, progress from task where id = any ($1) order by progress nulls last', [
      [running.taskId, over.taskId],
    ]);
    expect(rows).toEqual([
      { id: running.taskId, progress: 40 },
      { id: over.taskId, progress: null },
    ]);
  });
});
