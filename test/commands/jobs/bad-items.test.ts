import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { endStaleTasks } from '../../../src/commands/tasks/end-stale-tasks.ts';
import { jobs } from '../../../src/commands/jobs/job-table.ts';
import { probeChannels } from '../../../src/commands/channels/probe-channels.ts';
import {
  resumeSilentTasks,
  STARTER_CONCURRENCY,
  startUnstartedTasks,
} from '../../../src/commands/tasks/start-tasks.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { noteChannelFailure } from '../../../src/db/channels.ts';
import type { Database, Statement } from '../../../src/db/database.ts';
import type { Deps } from '../../../src/deps.ts';
import { buildDeps, type Built } from '../../../src/main/build-deps.ts';
import { createLogger } from '../../../src/platform/observe/logger.ts';
import type { StartResult, WorkflowClient } from '../../../src/platform/temporal/workflow-client.ts';
import { admitted, newId, newTask, openBook, openLedger, rowsOf, run, type Book } from '../../db/books.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

/** More than any sweep has lanes. */
const badCount = 20;

let scratch: TestDatabase;
let db: Database;
let built: Built;
let book: Book;
beforeAll(async () => {
  scratch = await createTestDatabase();
  db = await scratch.open();
  const key = (fill: number) => Buffer.alloc(32, fill).toString('base64');
  built = await buildDeps(
    loadConfig({
      DATABASE_URL: scratch.url,
      KEY_PEPPERS: `p1:${key(1)}`,
      MASTER_KEYS: `m1:${key(2)}`,
      LOG_LEVEL: 'silent',
    }),
    'test',
  );
  book = await openBook(db, { credits: 10_000 });
});
afterAll(async () => {
  await built.close();
  await scratch.drop();
});

const Line = z.record(z.string(), z.unknown());
let lines: z.infer<typeof Line>[];
beforeEach(() => void (lines = []));
// Each test looks after the tasks of its own.
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

/** Admitted tasks that nobody works on yet, oldest first. */
async function waiting(count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n++) ids.push((await admitted(openLedger(db), newTask(book, 1))).taskId);
  await change(ids, 'workflow_started_at = null');
  return ids;
}
const change = (ids: string[], what: string) => run(db, `update task set ${what} where id = any ($1)`, [ids]);
const silent = (ids: string[]) =>
  change(ids, `workflow_started_at = clock_timestamp(), last_seen_at = clock_timestamp() - interval '1 hour'`);
const startedOf = async (ids: string[]) =>
  (await rowsOf(db, 'select 1 from task where id = any ($1) and workflow_started_at is not null', [ids])).length;
/** Temporal, to which some tasks are odd. */
const startsAllBut = (odd: string[], how: () => Promise<StartResult>): Partial<WorkflowClient> => ({
  start: ({ taskId }) => (odd.includes(taskId) ? how() : Promise.resolve('started')),
});
const throws = () => Promise.reject(new Error('odd'));

describe('tasks whose workflow cannot be started', () => {
  it('raise an alarm, and the others are started and known to be', async () => {
    const odd = await waiting(badCount);
    const others = await waiting(5);
    expect(await startUnstartedTasks(depsWith(startsAllBut(odd, throws)))).toMatchObject({
      claimed: badCount + 5,
      started: 5,
    });
    expect([await startedOf(others), await startedOf(odd)]).toEqual([5, 0]);
    expect(alarms().map(({ task_id: id }) => id)).toEqual(expect.arrayContaining(odd));
  });

  it('because Temporal cannot be asked about one of them keep no other waiting', async () => {
    const odd = await waiting(1);
    const others = await waiting(40);
    const unreachable = () => Promise.resolve('unreachable' as const);
    expect(await startUnstartedTasks(depsWith(startsAllBut(odd, unreachable)))).toMatchObject({ started: 40 });
    expect(await startedOf(others)).toBe(40);
  });

  it('because Temporal is away are asked about once by each lane', async () => {
    await waiting(40);
    let asked = 0;
    const start = () => Promise.resolve<StartResult>((asked++, 'unreachable'));
    expect(await startUnstartedTasks(depsWith({ start }))).toMatchObject({ claimed: 40, started: 0 });
    expect(asked).toBe(STARTER_CONCURRENCY);
  });

  it('do not keep silent ones from being resumed, nor the job from starting those that wait', async () => {
    const odd = await waiting(badCount);
    const others = await waiting(5);
    await silent([...odd, ...others]);
    const unstarted = await waiting(3);
    const deps = depsWith(startsAllBut(odd, throws));
    expect(await jobs['process-pending-callbacks'].run(deps)).toMatchObject({ resumed: 5, started: 3 });
    expect(await startedOf(unstarted)).toBe(3);
    await silent([...odd, ...others]);
    expect(await resumeSilentTasks(deps)).toMatchObject({ claimed: badCount + 5, started: 5 });
  });
});

describe('stale tasks', () => {
  it('are all told to stop, whatever becomes of telling one', async () => {
    const odd = await waiting(badCount);
    const others = await waiting(5);
    await change([...odd, ...others], `deadline_at = clock_timestamp() - interval '1 minute'`);
    const told: string[] = [];
    const cancel = (taskId: string) => (told.push(taskId), odd.includes(taskId) ? throws() : Promise.resolve(true));
    expect(await endStaleTasks(depsWith({ cancel }))).toEqual({ failed: badCount + 5, stuck: 0, expired: 0 });
    expect(told.sort()).toEqual([...odd, ...others].sort());
  });

  it('are told to stop though expired chats cannot be refunded just now, and the run says that it failed', async () => {
    const ids = await waiting(3);
    await change(ids, `deadline_at = clock_timestamp() - interval '1 minute'`);
    const told: string[] = [];
    const cancel = (taskId: string) => Promise.resolve(told.push(taskId) > 0);
    await expect(endStaleTasks(depsWith({ cancel }, { db: failingAt('expire-chats') }))).rejects.toThrow('odd');
    expect(told.sort()).toEqual(ids.sort());
  });
});

/** The same database, in which one statement cannot be run. */
const failingAt = (name: string): Database =>
  new Proxy(db, {
    get: (target, property) => {
      if (property === 'orm') return target.orm.bind(target);
      if (property === 'transaction') return target.transaction.bind(target);
      return (statement: Statement, values?: unknown[]) =>
        statement.name === name ? throws() : target.query(statement, values);
    },
  });

describe('closed channels', () => {
  it('are each probed, whatever goes wrong with another', async () => {
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
    const odd = ids.slice(0, badCount);
    const { channels } = built.deps;
    const did = probeChannels(
      depsWith(
        {},
        {
          adapters: { fake: { probe: () => Promise.resolve({ kind: 'ok', value: true }) } },
          channels: { ...channels, find: (id) => (odd.includes(id) ? throws() : channels.find(id)) },
        },
      ),
    );
    expect(await did).toEqual({ probed: badCount + 2, reopened: 2, failed: badCount });
  });
});
