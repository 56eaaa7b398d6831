import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTaskAdmission, waitingTasksMax } from '../../../../src/services/tasks/create/task-admission.ts';
import { testConfig } from '../../../support/test-config.ts';
import type { Database } from '../../../../src/db/database.ts';
import { buildDeps, type Built } from '../../../../src/main/build-deps.ts';
import { createTemporalWatch } from '../../../../src/main/watch-temporal.ts';
import { readOverview } from '../../../../src/services/operators/read-overview.ts';
import { admitted, newTask, openBook, openLedger, run, type Book } from '../../../db/books.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { quickSettings } from '../../../support/gateway-settings.ts';
import { eventually } from '../../../support/eventually.ts';

const { KEY_PEPPERS, MASTER_KEYS, DATABASE_STATEMENT_TIMEOUT_MS, DATABASE_CONNECT_TIMEOUT_MS } = quickSettings;
const usual = { KEY_PEPPERS, MASTER_KEYS, DATABASE_STATEMENT_TIMEOUT_MS, DATABASE_CONNECT_TIMEOUT_MS };
let scratch: TestDatabase;
let db: Database;
let built: Built;
let book: Book;
beforeAll(async () => {
  scratch = await createTestDatabase();
  db = await scratch.open();
  // Alarms are lines of the log, which is discarded here.
  const settings = { ...usual, DATABASE_URL: scratch.url, LOG_LEVEL: 'error' };
  built = await buildDeps(testConfig(settings), 'test', { write: () => undefined });
  book = await openBook(db, { credits: 1_000 });
});
afterAll(async () => {
  await built?.close();
  await scratch?.drop();
});

/** A new one reads the database; each keeps what it has read for a second. */
const assertNotOverloaded = (deadlineSeconds: number) =>
  createTaskAdmission(built.deps).assertNotOverloaded(deadlineSeconds);

describe('while the workflows of tasks cannot be started', () => {
  it('creates are accepted for as long as the new task has time after the oldest one', async () => {
    const { taskId } = await admitted(openLedger(db), newTask(book, 1));
    await run(
      db,
      `update task set workflow_started_at = null, created_at = clock_timestamp() - interval '5 minutes' where id = $1`,
      [taskId],
    );
    await expect(assertNotOverloaded(600)).resolves.toBeUndefined();
    await expect(assertNotOverloaded(299)).rejects.toMatchObject({
      code: 'overloaded',
      message: expect.stringMatching(/^New tasks cannot be started in time: the oldest of 1 has waited for 30\d s\./),
      retryAfterSeconds: 5,
    });
  });

  it('creates are refused once too many tasks wait', async () => {
    const waiting = (count: number) =>
      run(
        db,
        `insert into task (id, project_id, key_id, request_id, type, model_id, input, snapshot, credits_quoted, credits_reserved, deadline_at, admission)
         select 'task_many_' || n, $1, $2, 'req_many_' || n, 'image', 'model-a', '{}', '{}', 1, 1, clock_timestamp() + interval '1 hour', 'reserved'
         from generate_series(1, $3::int) n on conflict do nothing`,
        [book.projectId, book.keyId, count],
      );
    await run(db, 'update task set workflow_started_at = clock_timestamp()');
    await waiting(waitingTasksMax - 1);
    await expect(assertNotOverloaded(600)).resolves.toBeUndefined();
    await waiting(waitingTasksMax);
    await expect(assertNotOverloaded(600)).rejects.toMatchObject({
      code: 'overloaded',
      message: expect.stringContaining('the oldest of 10,000 has waited for'),
    });
    await run(db, `delete from task where id like 'task_many_%'`);
  });
});

describe('while Temporal does not answer', () => {
  it('a worker raises an alarm after the time of a restart, the overview shows it, and the log says when it is back', async () => {
    let seconds = 0;
    let isReachable = false;
    const watch = createTemporalWatch(
      { logger: built.deps.logger, workflows: { isReachable: () => Promise.resolve(isReachable) } },
      () => seconds * 1_000,
    );
    const shown = async () =>
      (await readOverview(built.deps)).alarms.filter(({ kind }) => kind === 'temporal').map(({ message }) => message);
    await watch();
    seconds = 14;
    await watch();
    expect(await shown()).toEqual([]);
    seconds = 15;
    await watch();
    await eventually(async () => (await shown()).length > 0, { what: 'the alarm in the overview' });
    expect(await shown()).toEqual(['Temporal is away']);
    isReachable = true;
    await watch();
    await run(db, `update alarm set last_at = last_at - interval '61 seconds'`);
    expect(await shown()).toEqual([]);
  });
});

describe('the client of Temporal', () => {
  it('says that Temporal is away where nothing answers', async () => {
    expect(await built.deps.workflows.isReachable(200)).toBe(false);
  });
});
