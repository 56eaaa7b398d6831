import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setChannelEnabled } from '../../../src/services/channels/set-channel-enabled.ts';
import {
  beginAttempt,
  endAttempt,
  saveProviderRef,
  saveResult,
  type AttemptMemory,
} from '../../../src/db/tasks/attempts.ts';
import { coolDownChannel } from '../../../src/db/channels/channels.ts';
import type { Database } from '../../../src/db/database.ts';
import type { Ledger } from '../../../src/db/ledger/ledger.ts';
import { updateChannel } from '../../../src/db/channels/channel-settings.ts';
import { claimStop, listStops, releaseStop } from '../../../src/db/tasks/stops.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import {
  admitted,
  newId,
  newTask,
  openBook,
  openLedger,
  rowsOf,
  run,
  taskEnd,
  waitForLocks,
  type Book,
} from '../books.ts';

let scratch: TestDatabase;
let db: Database;
/** The connection pool of another worker. */
let other: Database;
let ledger: Ledger;
let book: Book;

beforeAll(async () => {
  scratch = await createTestDatabase();
  db = await scratch.open();
  other = await scratch.open();
  ledger = openLedger(db);
  book = await openBook(db, { credits: 1_000 });
});
afterAll(() => scratch.drop());

async function newChannel(): Promise<string> {
  const id = newId('chn');
  await run(
    db,
    `insert into channel (id, name, adapter, base_url, credential, groups) values ($1, $1, 'fal', 'http://127.0.0.1', 'sealed', '{default}')`,
    [id],
  );
  return id;
}

async function newAttempt({ submitSeconds = 60 } = {}) {
  const { taskId } = await admitted(ledger, newTask(book, 1));
  const channelId = await newChannel();
  const begin = (database = db): Promise<AttemptMemory | null> =>
    beginAttempt(database, {
      attemptId: newId('att'),
      taskId,
      channelId,
      fence: newId('fence'),
      submitSeconds,
      costMicroUsd: 40_000,
      probeSeconds: 10,
      adapter: 'fal',
    });
  return { taskId, channelId, begin };
}

/** The draft of a file, with its place. */
function files(name: string) {
  const storageKey = `outputs/${name}-${newId('key')}`;
  const drafts = [{ id: newId('file'), storageKey }];
  return [storageKey, { projectId: book.projectId, taskId: newId('task'), drafts, keptSeconds: 60 }] as const;
}

/** Ends the time in which the submit may still be in flight. */
const passSubmitDeadline = ({ attemptId }: AttemptMemory) =>
  run(db, `update attempt set submit_deadline = clock_timestamp() - interval '1 second' where id = $1`, [attemptId]);

const rowOf = async ({ attemptId }: AttemptMemory) =>
  (
    await rowsOf<{ operation: unknown; result: unknown; outcome: string | null; fence: string }>(
      db,
      'select operation, result, outcome, fence from attempt where id = $1',
      [attemptId],
    )
  )[0];

describe('beginning an attempt', () => {
  it('gives two concurrent workers the same row, and lets one of them submit', async () => {
    for (let round = 0; round < 20; round++) {
      const { taskId, begin } = await newAttempt();
      const [left, right] = await Promise.all([begin(db), begin(other)]);
      expect([left?.fresh, right?.fresh].sort()).toEqual([false, true]);
      expect(left?.attemptId).toBe(right?.attemptId);
      expect(await rowsOf(db, 'select status, attempts from task where id = $1', [taskId])).toEqual([
        { status: 'processing', attempts: 1 },
      ]);
    }
  });

  it('leaves the attempt to its worker while a submit may still be in flight', async () => {
    const { begin } = await newAttempt();
    const holder = (await begin())!;
    const second = (await begin(other))!;
    expect(second).toMatchObject({ fresh: false, outcome: null, operation: null });
    expect(second.submitDeadlineMs).toBeGreaterThan(0);
    expect((await rowOf(holder))?.fence).toBe(holder.fence);
    expect(await saveProviderRef(db, holder, { id: 'job-1' })).toBe(true);
  });

  it('gives the attempt to another worker once the submit deadline has passed', async () => {
    const { begin } = await newAttempt();
    const lost = (await begin())!;
    await passSubmitDeadline(lost);
    const second = (await begin(other))!;
    expect(second).toMatchObject({ fresh: false, attemptId: lost.attemptId, operation: null });
    expect(second.submitDeadlineMs).toBeLessThanOrEqual(0);
    expect(await endAttempt(other, second, { outcome: 'unknown' })).toBe(true);
  });

  it('gives an accepted job to another worker immediately, with its operation and result', async () => {
    const { begin } = await newAttempt();
    const first = (await begin())!;
    await saveProviderRef(db, first, { id: 'job-2' });
    const [, draft] = files('a');
    expect(await saveResult(db, first, [{ url: 'https://example.com/a.png' }], draft)).toBe(true);
    expect(await begin(other)).toMatchObject({
      fresh: false,
      operation: { id: 'job-2' },
      result: [{ url: 'https://example.com/a.png' }],
    });
  });

  it('makes another attempt on a channel that was too busy, from the time on that its row names', async () => {
    const { taskId, begin } = await newAttempt();
    const refused = (await begin())!;
    await endAttempt(db, refused, {
      outcome: 'transient',
      errorClass: 'rate_limit',
      retry: { seconds: 60, isPromised: true },
    });
    expect(await begin(other)).toMatchObject({ fresh: false, attemptId: refused.attemptId, outcome: 'transient' });
    await run(db, 'update attempt set retry_at = clock_timestamp() where id = $1', [refused.attemptId]);

    const [left, right] = await Promise.all([begin(db), begin(other)]);
    expect([left?.fresh, right?.fresh].sort()).toEqual([false, true]);
    expect(left?.attemptId).not.toBe(refused.attemptId);
    expect(await rowsOf(db, 'select n, outcome from attempt where request_id = $1 order by n', [taskId])).toEqual([
      { n: 1, outcome: 'transient' },
      { n: 2, outcome: null },
    ]);
  });

  it.each(['transient', 'refused', 'unknown', 'canceled', 'ok'] as const)(
    'makes no other attempt on a channel after an attempt that ended as %s',
    async (outcome) => {
      const { begin } = await newAttempt();
      const ended = (await begin())!;
      // Only an attempt that bought nothing names a time.
      const retry = outcome === 'transient' ? null : { seconds: -1, isPromised: true };
      await endAttempt(db, ended, { outcome, retry });
      expect(await begin(other)).toMatchObject({ fresh: false, attemptId: ended.attemptId, outcome });
    },
  );

  it('is refused by the table itself where an earlier attempt on the channel may have bought the job', async () => {
    const { taskId, channelId, begin } = await newAttempt();
    await endAttempt(db, (await begin())!, { outcome: 'unknown' });
    const second = `insert into attempt (id, request_id, n, channel_id, channel_name, fence, submit_deadline)
                    values ($1, $2, 2, $3, 'x', 'x', clock_timestamp())`;
    await expect(run(db, second, [newId('att'), taskId, channelId])).rejects.toThrow('attempt_bought_once_idx');
  });

  it('returns a recorded outcome and does not take the attempt over', async () => {
    const { begin } = await newAttempt();
    const holder = (await begin())!;
    await endAttempt(db, holder, { outcome: 'refused', code: 'content_policy_violation' });
    expect(await begin(other)).toMatchObject({ fresh: false, outcome: 'refused', code: 'content_policy_violation' });
    expect((await rowOf(holder))?.fence).toBe(holder.fence);
  });

  it('begins no attempt for a task that has ended, was never admitted, or is being canceled', async () => {
    const ended = await newAttempt();
    await ledger.finishTask(taskEnd(ended.taskId, 'failed'));
    expect(await ended.begin()).toBeNull();

    const canceling = await newAttempt();
    await run(db, 'update task set cancel_requested_at = clock_timestamp() where id = $1', [canceling.taskId]);
    expect(await canceling.begin()).toBeNull();

    const undecided = newTask(book, 1);
    await ledger.createTask(undecided);
    const input = {
      attemptId: newId('att'),
      channelId: await newChannel(),
      fence: 'f',
      submitSeconds: 60,
      costMicroUsd: 0,
      probeSeconds: 10,
      adapter: 'fal',
    };
    expect(await beginAttempt(db, { ...input, taskId: undecided.taskId })).toBeNull();
    expect(await beginAttempt(db, { ...input, taskId: 'task_unknown' })).toBeNull();
  });

  it('begins no attempt on a channel that is disabled or deleted', async () => {
    const disabled = await newAttempt();
    await run(db, 'update channel set enabled = false where id = $1', [disabled.channelId]);
    expect(await disabled.begin()).toBeNull();

    const gone = await newAttempt();
    await run(db, 'delete from channel where id = $1', [gone.channelId]);
    expect(await gone.begin()).toBeNull();
  });

  it('waits for a concurrent change of its channel, and begins no attempt if the adapter has changed', async () => {
    for (const adapter of ['fal', 'kling']) {
      const { channelId, begin } = await newAttempt();
      const begun = await other.transaction('begin', async (query) => {
        const sql = (text: string, values: unknown[]) => query('', text, values);
        await sql('select from channel where id = $1 for update', [channelId]);
        await sql('update channel set adapter = $2 where id = $1', [channelId, adapter]);
        const beginning = begin(db);
        await waitForLocks(db, '%begin_attempt%');
        return { beginning };
      });
      expect((await begun.beginning)?.fresh).toBe(adapter === 'fal' ? true : undefined);
    }
  });

  it('delays a change of the adapter of its channel, but not the disabling of the channel', async () => {
    const { channelId, begin, taskId } = await newAttempt();
    const changed = await other.transaction('begin', async (query) => {
      const beginning = 'select fresh from begin_attempt($1, $2, $3, $4, 60, 0, 10, $5)';
      const values = [newId('att'), taskId, channelId, 'fence', 'fal'];
      expect(await query<{ fresh: boolean }>('', beginning, values)).toEqual([{ fresh: true }]);
      expect(await setChannelEnabled({ db }, { channel: channelId, enabled: false, actor: 'test' })).toBeTruthy();
      const changing = updateChannel(db, {
        channel: channelId,
        changes: { adapter: 'kling' },
        actor: 'test',
        last4: null,
        credentials: {},
        sealing: { seal: (secret) => secret, move: (sealed) => sealed, holds: () => false },
        forgetHealth: 'all',
      });
      await waitForLocks(db, '%for update%');
      return { changing };
    });
    expect(await changed.changing).toBe('busy');
    expect(await begin()).toMatchObject({ fresh: false });
  });

  it.each([
    ['for this model', 'model-a', true],
    ['for all models', '*', true],
    ['for another model only', 'model-b', false],
  ])('considers a cool-down %s', async (_which, modelId, rests) => {
    const { channelId, begin } = await newAttempt();
    await coolDownChannel(db, { channelId, modelId, seconds: 60, reason: 'rate_limit' });
    expect((await begin()) === null).toBe(rests);
  });

  it('continues a job that was accepted before its channel was disabled or cooled down', async () => {
    const { channelId, begin } = await newAttempt();
    await saveProviderRef(db, (await begin())!, { id: 'job-3' });
    await coolDownChannel(db, { channelId, modelId: '*', seconds: 60, reason: 'rate_limit' });
    await run(db, 'update channel set enabled = false where id = $1', [channelId]);
    expect(await begin(other)).toMatchObject({ fresh: false, operation: { id: 'job-3' } });
  });

  it('does not shorten a cool-down that is already running', async () => {
    const { channelId } = await newAttempt();
    await coolDownChannel(db, { channelId, modelId: '*', seconds: 600, reason: 'account' });
    await coolDownChannel(db, { channelId, modelId: '*', seconds: 5, reason: 'rate_limit' });
    const [row] = await rowsOf<{ left: number }>(
      db,
      'select extract(epoch from unavailable_until - clock_timestamp())::float8 as left from channel_health where channel_id = $1',
      [channelId],
    );
    expect(row!.left).toBeGreaterThan(300);
  });
});

describe('a worker whose attempt was taken over', () => {
  async function fencedOut() {
    const attempt = await newAttempt();
    const late = (await attempt.begin())!;
    await passSubmitDeadline(late);
    const holder = (await attempt.begin(other))!;
    return { ...attempt, late, holder };
  }

  it('neither ends the attempt nor saves a result', async () => {
    const { late, holder } = await fencedOut();
    const [storageKey, draft] = files('late');
    expect(await saveResult(db, late, [{ url: 'https://example.com/late.png' }], draft)).toBe(false);
    expect(await rowsOf(db, 'select id from file where storage_key = $1', [storageKey])).toEqual([]);
    expect(await endAttempt(db, late, { outcome: 'ok', outputs: [] })).toBe(false);
    expect(await rowOf(holder)).toMatchObject({ result: null, outcome: null });
    expect(await endAttempt(other, holder, { outcome: 'unknown' })).toBe(true);
    expect(await endAttempt(other, holder, { outcome: 'ok', outputs: [] })).toBe(false);
    expect(await rowOf(holder)).toMatchObject({ outcome: 'unknown' });
  });

  it('saves the id of a late job for the operator, and is told that the attempt was taken over', async () => {
    const { late, holder } = await fencedOut();
    await endAttempt(other, holder, { outcome: 'unknown' });
    expect(await saveProviderRef(db, late, { id: 'job-late' })).toBe(false);
    expect(await rowOf(holder)).toMatchObject({ operation: { id: 'job-late' }, outcome: 'unknown' });
  });

  it('never replaces a job id that is already saved', async () => {
    const { late, holder } = await fencedOut();
    await saveProviderRef(other, holder, { id: 'job-known' });
    expect(await saveProviderRef(db, late, { id: 'job-other' })).toBe(false);
    expect(await rowOf(holder)).toMatchObject({ operation: { id: 'job-known' } });
  });
});

describe('the stop of a job after the end of its task', () => {
  const claims = async (attemptId: string, againAfterSeconds: number | null = null) =>
    (
      await Promise.all([db, other, db, other].map((database) => claimStop(database, attemptId, againAfterSeconds)))
    ).filter(Boolean).length;

  it('is listed until it is claimed, and is claimed once by four concurrent calls', async () => {
    const { taskId, begin } = await newAttempt();
    const memory = (await begin())!;
    await saveProviderRef(db, memory, { id: 'job-4' });
    expect(await listStops(db, [taskId])).toEqual([]);
    await ledger.finishTask(taskEnd(taskId, 'canceled'));
    expect(await listStops(db, [taskId])).toMatchObject([{ attemptId: memory.attemptId, operation: { id: 'job-4' } }]);
    expect(await claims(memory.attemptId)).toBe(1);
    expect(await claims(memory.attemptId)).toBe(0);
    expect(await listStops(db, [taskId])).toEqual([]);
  });

  it('can be claimed again after its release, or once if the claim is old', async () => {
    const { begin } = await newAttempt();
    const { attemptId } = (await begin())!;
    expect(await claims(attemptId, 15)).toBe(1);
    expect(await claims(attemptId, 15)).toBe(0);
    await releaseStop(db, attemptId);
    expect(await claims(attemptId, 15)).toBe(1);
    await run(db, `update attempt set stop_sent_at = clock_timestamp() - interval '16 seconds' where id = $1`, [
      attemptId,
    ]);
    expect(await claims(attemptId)).toBe(0);
    expect(await claims(attemptId, 15)).toBe(1);
  });

  it('is not listed if the job has ended or was never accepted', async () => {
    const over = await newAttempt();
    const ended = (await over.begin())!;
    await saveProviderRef(db, ended, { id: 'job-5' });
    await endAttempt(db, ended, { outcome: 'transient', code: 'upstream_failed' });
    await ledger.finishTask(taskEnd(over.taskId, 'failed'));
    expect(await listStops(db, [over.taskId])).toEqual([]);
    expect(await claims(ended.attemptId)).toBe(0);

    const unaccepted = await newAttempt();
    await unaccepted.begin();
    await ledger.finishTask(taskEnd(unaccepted.taskId, 'failed'));
    expect(await listStops(db, [unaccepted.taskId])).toEqual([]);
  });

  it('is listed for an attempt with an unknown outcome once its job id is saved', async () => {
    const { taskId, begin } = await newAttempt();
    const memory = (await begin())!;
    await endAttempt(db, memory, { outcome: 'unknown' });
    await ledger.finishTask(taskEnd(taskId, 'failed'));
    await saveProviderRef(db, memory, { id: 'job-6' });
    expect(await listStops(db, [taskId])).toMatchObject([{ operation: { id: 'job-6' } }]);
    expect(await claims(memory.attemptId)).toBe(1);
  });
});
