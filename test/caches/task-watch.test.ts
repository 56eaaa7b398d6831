import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { TaskView } from '../../src/domain/tasks/task-view.ts';
import { createTaskWatch } from '../../src/caches/task-watch.ts';
import type { Watch } from '../../src/caches/watch.ts';
import { waitForTask } from '../../src/services/tasks/show/wait-for-task.ts';
import type { Database } from '../../src/db/database.ts';
import { createEndAnnouncer } from '../../src/db/tasks/end-announcer.ts';
import { Ledger } from '../../src/db/ledger/ledger.ts';
import { listenForChanges, type ChangeListener } from '../../src/db/listen.ts';
import { TaskReader } from '../../src/db/tasks/task-reader.ts';
import { findTask } from '../../src/db/tasks/tasks.ts';
import { attemptEndedOk, openBook, patienceMs, taskEnd, type Book } from '../db/books.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { aRunningTask } from '../support/ended-task.ts';
import { eventually } from '../support/eventually.ts';

let scratch: TestDatabase;
let db: Database;
let book: Book;
let watch: Watch;
let listener: ChangeListener;
/** The statements of the waiting process. */
let statements: string[];
let counting: Database;
const logger = { warn: () => undefined };

beforeAll(async () => {
  scratch = await createTestDatabase();
  db = await scratch.open({ poolMax: 8 });
  book = await openBook(db, { credits: 1_000 });
  counting = Object.create(db) as Database;
  counting.query = (...statement) => {
    statements.push(statement[0]);
    return db.query(...statement);
  };
});
beforeEach(() => {
  statements = [];
});
afterEach(async () => {
  watch.close();
  await listener?.close();
});
afterAll(() => scratch.drop());

/** Follows tasks with this pause between the reads of their versions. */
function watchEvery(beatMs: number): void {
  watch = createTaskWatch(counting, logger, beatMs);
}
async function listen(): Promise<void> {
  const onChange = (table: string, ids: readonly string[]) => void (table === 'ended' && watch.announce(ids));
  listener = listenForChanges({ url: scratch.url, logger, onChange });
  await eventually(() => Promise.resolve(listener.isCurrent()));
}
const waitFor = async (taskId: string): Promise<TaskView> => {
  const task = await findTask(db, taskId);
  if (!task) throw new Error('there is no task');
  const taskReader = new TaskReader(counting, { membersMax: 128, patienceMs });
  return waitForTask({ taskReader, taskWatch: watch, logger: logger as never }, task, { seconds: 60 });
};
const someTasks = (count: number): Promise<string[]> =>
  Promise.all(Array.from({ length: count }, () => aRunningTask(db, book)));
const hour = 3_600_000;

describe('a wait for a task', () => {
  it('ends by the notification of the process that ended the task, before the versions of tasks are read', async () => {
    watchEvery(hour);
    await listen();
    const announcer = createEndAnnouncer(db, logger);
    const ledger = new Ledger(db, { membersMax: 64, patienceMs, hasEnded: (id) => announcer.announce(id) });
    const tasks = await someTasks(30);
    const waits = Promise.all(tasks.map(waitFor));
    await eventually(() => Promise.resolve(statements.length > 0));
    for (const id of tasks) await attemptEndedOk(db, id);
    await Promise.all(tasks.map((id) => ledger.finishTask(taskEnd(id, 'succeeded'))));
    expect((await waits).map(({ status }) => status)).toEqual(tasks.map(() => 'succeeded'));
    expect(statements).not.toContain('task-versions');
  });

  it('ends by one statement for all waits of the process where the notification was lost', async () => {
    watchEvery(20);
    const ledger = new Ledger(db, { membersMax: 64, patienceMs });
    const tasks = await someTasks(30);
    const waits = Promise.all([...tasks, ...tasks].map(waitFor));
    await eventually(() => Promise.resolve(statements.includes('task-versions')));
    // Tasks that do not change are not read again.
    await eventually(() => Promise.resolve(statements.slice(-5).every((name) => name === 'task-versions')));
    await Promise.all(tasks.map((id) => ledger.finishTask(taskEnd(id, 'failed'))));
    expect((await waits).map(({ status }) => status)).toEqual([...tasks, ...tasks].map(() => 'failed'));
  });

  it('goes on after a read that failed', async () => {
    watchEvery(20);
    const [taskId = ''] = await someTasks(1);
    const failing = Object.create(db) as Database;
    let reads = 0;
    failing.query = (...statement) => (++reads === 1 ? Promise.reject(new Error('away')) : db.query(...statement));
    const task = await findTask(db, taskId);
    if (!task) throw new Error('there is no task');
    const taskReader = new TaskReader(failing, { membersMax: 128, patienceMs });
    const waiting = waitForTask({ taskReader, taskWatch: watch, logger: logger as never }, task, { seconds: 60 });
    await new Ledger(db, { membersMax: 64, patienceMs }).finishTask(taskEnd(taskId, 'failed'));
    expect((await waiting).status).toBe('failed');
    expect(reads).toBeGreaterThan(1);
  });
});
