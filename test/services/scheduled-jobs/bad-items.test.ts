import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { z } from 'zod';
import { scheduledJobTable } from '../../../src/services/scheduled-jobs/scheduled-job-table.ts';
import { probeTrippedChannels } from '../../../src/services/channels/probe-tripped-channels.ts';
import {
  createTaskStarter,
  resumeSilentTasks,
  STARTER_CONCURRENCY,
  startUnstartedTasks,
} from '../../../src/services/tasks/create/start-tasks.ts';
import { noteChannelFailure } from '../../../src/db/channels/channels.ts';
import type { Database } from '../../../src/db/database.ts';
import type { Deps } from '../../../src/deps.ts';
import type { Built } from '../../../src/main/build-deps.ts';
import { createLogger } from '../../../src/platform/observe/logger.ts';
import type { StartResult, WorkflowClient } from '../../../src/platform/temporal/workflow-client.ts';
import { accountOf, admitted, newId, newTask, openBook, openLedger, rowsOf, run, type Book } from '../../db/books.ts';
import { buildQuietDeps } from '../../support/built-deps.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';

/** More than the concurrency of any sweep. */
const badCount = 20;

let scratch: TestDatabase;
let db: Database;
let built: Built;
let book: Book;
beforeAll(async () => {
  scratch = await createTestDatabase();
  db = await scratch.open();
  built = await buildQuietDeps(scratch.url);
  book = await openBook(db, { credits: 10_000 });
});
afterAll(async () => {
  await built.close();
  await scratch.drop();
});

const Line = z.record(z.string(), z.unknown());
let lines: z.infer<typeof Line>[];
beforeEach(() => void (lines = []));
// Each test has only its own tasks.
afterEach(() =>
  run(db, `update task set completed_at = clock_timestamp(), status = 'failed' where completed_at is null`),
);
const alarms = () => lines.filter(({ alarm }) => alarm === true);

const depsWith = (workflows: Partial<WorkflowClient> = {}, over: Partial<Deps> = {}): Deps => ({
  ...built.deps,
  logger: createLogger('info', 'test', { write: (line) => void lines.push(Line.parse(JSON.parse(line))) }),
  workflows: { ...built.deps.workflows, ...workflows },
  ...over,
});

/** Admitted tasks whose workflow is not started yet, oldest first. */
async function waiting(count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n++) ids.push((await admitted(openLedger(db), newTask(book, 1))).taskId);
  await change(ids, 'workflow_started_at = null');
  return ids;
}
const change = (ids: string[], set: string) => run(db, `update task set ${set} where id = any ($1)`, [ids]);
const silent = (ids: string[]) =>
  change(ids, `workflow_started_at = clock_timestamp(), last_seen_at = clock_timestamp() - interval '1 hour'`);
const startedOf = async (ids: string[]) =>
  (await rowsOf(db, 'select 1 from task where id = any ($1) and workflow_started_at is not null', [ids])).length;
/** A Temporal client that fails to start some tasks. */
const startsAllBut = (bad: string[], how: () => Promise<StartResult>): Partial<WorkflowClient> => ({
  start: ({ taskId }) => (bad.includes(taskId) ? how() : Promise.resolve('started')),
  collect: ({ taskId }) => (bad.includes(taskId) ? how() : Promise.resolve('started')),
});
const throws = () => Promise.reject(new Error('odd'));

describe('tasks whose workflow cannot be started', () => {
  it('raise an alarm, and the other tasks are started and recorded as started', async () => {
    const bad = await waiting(badCount);
    const others = await waiting(5);
    expect(await startUnstartedTasks(depsWith(startsAllBut(bad, throws)))).toMatchObject({
      claimed: badCount + 5,
      started: 5,
    });
    expect([await startedOf(others), await startedOf(bad)]).toEqual([5, 0]);
    expect(alarms().map(({ task_id: id }) => id)).toEqual(expect.arrayContaining(bad));
  });

  it('because Temporal is unreachable for one of them do not stop the others', async () => {
    const bad = await waiting(1);
    const others = await waiting(40);
    const unreachable = () => Promise.resolve('unreachable' as const);
    expect(await startUnstartedTasks(depsWith(startsAllBut(bad, unreachable)))).toMatchObject({ started: 40 });
    expect(await startedOf(others)).toBe(40);
  });

  it('because Temporal is unavailable cause one call per lane of the sweep', async () => {
    await waiting(40);
    let calls = 0;
    const start = () => Promise.resolve<StartResult>((calls++, 'unreachable'));
    expect(await startUnstartedTasks(depsWith({ start }))).toMatchObject({ claimed: 40, started: 0 });
    expect(calls).toBe(STARTER_CONCURRENCY);
  });

  it('because Temporal is unavailable may be claimed again within seconds, so that they start soon after its return', async () => {
    const ids = await waiting(40);
    await startUnstartedTasks(depsWith({ start: () => Promise.resolve('unreachable') }));
    const claimedLong = `select 1 from task where id = any ($1) and start_claimed_until > clock_timestamp() + interval '3 seconds'`;
    expect(await rowsOf(db, claimedLong, [ids])).toEqual([]);
    await eventually(async () => {
      await startUnstartedTasks(depsWith({ start: () => Promise.resolve('started') }));
      return (await startedOf(ids)) === 40;
    });
  });

  it('do not stop the job from resuming silent tasks and starting waiting ones', async () => {
    const bad = await waiting(badCount);
    const others = await waiting(5);
    await silent([...bad, ...others]);
    const unstarted = await waiting(3);
    const deps = depsWith(startsAllBut(bad, throws));
    expect(await scheduledJobTable['process-pending-callbacks'].run(deps)).toMatchObject({ resumed: 5, started: 3 });
    expect(await startedOf(unstarted)).toBe(3);
    await silent([...bad, ...others]);
    expect(await resumeSilentTasks(deps)).toMatchObject({ claimed: badCount + 5, started: 5 });
  });
});

describe('a task whose workflow has closed although the task is open, as after a failover to a standby that lost rows', () => {
  const closed = { start: () => Promise.resolve('already_completed'), startAgain: () => Promise.resolve('started') };
  const record = (...channelIds: string[]) => ({
    readRecord: () => Promise.resolve({ hasWorkflow: true, channelIds }),
  });

  it('is started again if the database has every attempt of the workflow', async () => {
    const [taskId] = await waiting(1);
    expect(await startUnstartedTasks(depsWith({ ...closed, ...record() } as never))).toMatchObject({ started: 1 });
    expect(await rowsOf(db, 'select status from task where id = $1', [taskId])).toMatchObject([{ status: 'queued' }]);
  });

  it('ends with a refund if the workflow called a channel of which the database has no attempt', async () => {
    const [taskId = ''] = await waiting(1);
    const before = await accountOf(db, book.projectId);
    const starts: string[] = [];
    const startAgain = ({ taskId: id }: { taskId: string }) => Promise.resolve(void starts.push(id));
    await startUnstartedTasks(depsWith({ ...closed, ...record('chn_lost'), startAgain } as never));
    expect(starts).toEqual([]);
    expect(await rowsOf(db, 'select status, error_code from task where id = $1', [taskId])).toMatchObject([
      { status: 'failed', errorCode: 'upstream_outcome_unknown' },
    ]);
    expect((await accountOf(db, book.projectId)).reserved).toBe(before.reserved - 1);
    expect(alarms()).toMatchObject([{ task_id: taskId }]);
  });
});

describe('many waiting tasks', () => {
  it('are started no faster than providers are called for them, those that began with the newest and the oldest', async () => {
    const ids = await waiting(100);
    const order: string[] = [];
    const start = ({ taskId }: { taskId: string }) => {
      order.push(taskId);
      return Promise.resolve<StartResult>('started');
    };
    const starter = createTaskStarter(depsWith({ start }));
    // A started task counts for five seconds, which the first rounds would take on a busy machine.
    const clock = jest.spyOn(performance, 'now').mockReturnValue(performance.now());
    try {
      expect(await starter.round()).toMatchObject({ started: 32, hasMore: true });
      expect(order.toSorted()).toEqual([...ids.slice(0, 16), ...ids.slice(-16)].toSorted());
      expect(await starter.round()).toMatchObject({ claimed: 0, hasMore: true });
      await change(order.slice(0, 10), 'started_at = clock_timestamp()');
      expect(await starter.round()).toMatchObject({ started: 10, hasMore: true });
    } finally {
      clock.mockRestore();
    }
    await change(ids, 'started_at = clock_timestamp()');
    const rest = [await starter.round(), await change(ids, 'started_at = clock_timestamp()'), await starter.round()];
    expect(rest[0]).toMatchObject({ started: 32, hasMore: true });
    expect(rest[2]).toMatchObject({ started: 26, hasMore: false });
    expect(await startedOf(ids)).toBe(100);
  });
});

describe('stale tasks', () => {
  it('are all cancelled, even if the cancel requests of some fail', async () => {
    const bad = await waiting(badCount);
    const others = await waiting(5);
    await change([...bad, ...others], `deadline_at = clock_timestamp() - interval '1 minute'`);
    const cancelled: string[] = [];
    const cancel = (taskId: string) => (
      cancelled.push(taskId),
      bad.includes(taskId) ? throws() : Promise.resolve(true)
    );
    expect(await scheduledJobTable['check-stale-media-tasks'].run(depsWith({ cancel }))).toEqual({
      failed: badCount + 5,
      stuck: 0,
      expired: 0,
    });
    expect(cancelled.sort()).toEqual([...bad, ...others].sort());
  });

  it('are cancelled even if expired chats cannot be refunded, and the run fails', async () => {
    const ids = await waiting(3);
    await change(ids, `deadline_at = clock_timestamp() - interval '1 minute'`);
    const cancelled: string[] = [];
    const cancel = (taskId: string) => Promise.resolve(cancelled.push(taskId) > 0);
    const deps = depsWith({ cancel }, { db: failingAt('expire_chats') });
    await expect(scheduledJobTable['check-stale-media-tasks'].run(deps)).rejects.toThrow('odd');
    expect(cancelled.sort()).toEqual(ids.sort());
  });
});

/** The same database, in which one statement fails. */
const failingAt = (failing: string): Database =>
  new Proxy(db, {
    get: (target, property) => {
      if (property === 'orm') return target.orm.bind(target);
      if (property === 'transaction') return target.transaction.bind(target);
      if (property !== 'query') return Reflect.get(target, property) as unknown;
      return (name: string, text: string, values?: unknown[]) =>
        name === failing ? throws() : target.query(name, text, values);
    },
  });

describe('tripped channels', () => {
  it('are all probed, even if the probes of some fail', async () => {
    const ids = Array.from({ length: badCount + 2 }, () => newId('chn'));
    for (const id of ids) {
      await run(
        db,
        `insert into channel (id, name, adapter, base_url, credential, groups, priority, weight)
         values ($1, $1, 'fake', 'https://upstream.example', $2, '{}', 1, 1)`,
        [id, built.deps.sealer.seal('secret', `channel|credential|${id}`)],
      );
      await noteChannelFailure(
        db,
        { channelId: id, modelId: 'model-a', ageSeconds: 0, reason: 'connect', trip: true },
        { failuresMax: 5, trippedSeconds: 600, trippedMaxSeconds: 600 },
      );
    }
    const bad = ids.slice(0, badCount);
    const { channels } = built.deps;
    const did = probeTrippedChannels(
      depsWith(
        {},
        {
          adapters: { fake: { probe: () => Promise.resolve({ kind: 'ok', value: true }) } },
          channels: { ...channels, find: (id) => (bad.includes(id) ? throws() : channels.find(id)) },
        },
      ),
    );
    expect(await did).toEqual({ probed: badCount + 2, reopened: 2, failed: badCount });
  });
});
