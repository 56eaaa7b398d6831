import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createTaskAnswers, type TaskAnswers } from '../../src/caches/task-answers.ts';
import { anyRedeliveries } from '../../src/services/callbacks/redeliver-callback.ts';
import { answerTaskRead } from '../../src/services/tasks/show/show-task.ts';
import type { Database } from '../../src/db/database.ts';
import { startRedelivery } from '../../src/db/callbacks/deliveries.ts';
import { listenForChanges, type ChangeListener } from '../../src/db/listen.ts';
import { eraseContents, purgeTasks } from '../../src/db/scheduled-jobs/retention.ts';
import { TaskReader } from '../../src/db/tasks/task-reader.ts';
import { newId, openBook, patienceMs, run, type Book } from '../db/books.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { aRunningTask, deliver, succeed } from '../support/ended-task.ts';
import { eventually } from '../support/eventually.ts';
import { startListenerProxy, type ListenerProxy } from './listener-proxy.ts';

let scratch: TestDatabase;
let db: Database;
let book: Book;
let proxy: ListenerProxy;
let listener: ChangeListener;
let answers: TaskAnswers;
/** The batches of ids that were read from PostgreSQL. */
let reads: number;
let reader: TaskReader;
/** Of the listener. */
let warnings: string[];

const form = {
  name: 'task',
  present: ({ status, input, callback }: Shown) => ({ status, input, state: callback?.state ?? null }),
};
type Shown = Parameters<Parameters<typeof answerTaskRead>[2]['present']>[0];

const read = async (taskId: string, projectId = book.projectId): Promise<unknown> => {
  const { body } = await answerTaskRead({ taskReader: reader, taskAnswers: answers }, { taskId, projectId }, form);
  return JSON.parse(body.toString());
};
/** Reads twice, and returns how often PostgreSQL was asked. */
const readsOfTwo = async (taskId: string): Promise<number> => {
  reads = 0;
  await read(taskId);
  await read(taskId);
  return reads;
};
/**
 * Waits until the answer about an ended task is read from memory. A machine that stands still for two seconds delays it: meanwhile the listener may
 * miss a change, so that no answer is kept.
 */
const isKept = (taskId: string) => eventually(async () => (await readsOfTwo(taskId)) < 2, { what: 'a kept answer' });
const listen = (url: string): void => {
  warnings = [];
  const logger = { warn: (_: object, sentence: string) => void warnings.push(sentence) };
  answers = createTaskAnswers(() => listener.isCurrent());
  const onChange = (table: string, ids: readonly string[]) => void (table === 'task' && answers.forget(ids));
  listener = listenForChanges({ url, logger, onChange });
};
const current = () => eventually(() => Promise.resolve(listener.isCurrent()));
const endedTask = async (callbackUrl: string | null = null): Promise<string> => {
  const taskId = await aRunningTask(db, book, callbackUrl);
  const deliveryId = await succeed(db, taskId);
  if (callbackUrl !== null) await deliver(db, deliveryId);
  // An answer is kept from the second read on.
  await read(taskId);
  return taskId;
};
const redeliver = (taskId: string) =>
  startRedelivery(db, { taskId, deliveryId: newId('dlv'), eventId: newId('evt'), limits: anyRedeliveries });
const hook = 'https://receiver.example/hook';
const before = { status: 'succeeded', input: { prompt: 'a red fox' }, state: 'delivered' };

beforeAll(async () => {
  scratch = await createTestDatabase();
  db = await scratch.open();
  book = await openBook(db, { credits: 1_000 });
  proxy = await startListenerProxy(scratch.url);
  const counting = Object.create(db) as Database;
  counting.query = (...statement) => {
    reads += 1;
    return db.query(...statement);
  };
  reader = new TaskReader(counting, { membersMax: 128, patienceMs });
});
beforeEach(async () => {
  await listener?.close();
  listen(scratch.url);
  await current();
});
afterAll(async () => {
  await listener?.close();
  await proxy?.close();
  await scratch?.drop();
});

describe('reads of tasks', () => {
  it('read an ended task from PostgreSQL once, and a running task each time', async () => {
    await isKept(await endedTask());
    await isKept(await endedTask(hook));
    expect(await readsOfTwo(await aRunningTask(db, book))).toBe(2);
  });

  it('read an ended task each time while its callback is on its way', async () => {
    const taskId = await aRunningTask(db, book, hook);
    const deliveryId = await succeed(db, taskId);
    expect(await readsOfTwo(taskId)).toBe(2);
    await deliver(db, deliveryId);
    expect(await read(taskId)).toEqual(before);
  });

  it('that arrive together share a statement, and each gets its own task', async () => {
    const tasks = await Promise.all(Array.from({ length: 20 }, () => aRunningTask(db, book)));
    const other = await openBook(db, { credits: 10 });
    const foreign = await aRunningTask(db, other);
    reads = 0;
    const shown = await Promise.allSettled([...tasks, foreign, 'task_none', tasks[0] ?? ''].map((id) => read(id)));
    expect(shown.map(({ status }) => status)).toEqual([
      ...tasks.map(() => 'fulfilled'),
      'rejected',
      'rejected',
      'fulfilled',
    ]);
    expect(reads).toBe(1);
  });

  it("answer another project's task as an unknown one, also while its answer is kept", async () => {
    const taskId = await endedTask();
    await read(taskId);
    const other = await openBook(db);
    await expect(read(taskId, other.projectId)).rejects.toMatchObject({ code: 'task_not_found' });
  });

  it.each([
    ['sent again', redeliver, { ...before, state: 'pending' }],
    [
      'erased',
      async (taskId: string) => {
        await run(db, `update task set expires_at = clock_timestamp() where id = $1`, [taskId]);
        await eraseContents(db, 100);
      },
      { ...before, input: null },
    ],
  ])(
    'show a change within moments when the callback or the content of an ended task was %s',
    async (_, change, after) => {
      const taskId = await endedTask(hook);
      expect(await read(taskId)).toEqual(before);
      await change(taskId);
      await eventually(async () => JSON.stringify(await read(taskId)) === JSON.stringify(after));
    },
  );

  it('find an ended task no more once it was deleted, among more tasks than one notification holds', async () => {
    const taskId = await endedTask();
    await read(taskId);
    const others = Array.from({ length: 300 }, () => newId('task'));
    await db.query('', 'select notify_tasks($1)', [[...others, taskId]]);
    await eventually(async () => (await readsOfTwo(taskId)) > 0);

    await run(db, `delete from attempt where request_id = $1`, [taskId]);
    await run(db, `update task set completed_at = '2020-01-01' where id = $1`, [taskId]);
    expect(await purgeTasks(db, 1, 100)).toBeGreaterThan(0);
    await eventually(() =>
      read(taskId).then(
        () => false,
        () => true,
      ),
    );
  });

  it('keep no answer that changes while it is read', async () => {
    const taskId = await endedTask(hook);
    const keep = answers.reading();
    answers.forget([taskId]);
    const request = { taskId, projectId: book.projectId };
    keep(request, 'task', { body: Buffer.from('outdated'), etag: '"1"' });
    expect(answers.find(request, 'task')).toBeNull();
  });
});

describe('while changes may be missed', () => {
  it('reads an ended task each time after the connection of the listener was lost, and keeps nothing of before', async () => {
    await listener.close();
    listen(proxy.url);
    await current();
    const taskId = await endedTask(hook);
    await isKept(taskId);

    const restore = proxy.cutOff();
    await eventually(() => Promise.resolve(!listener.isCurrent()));
    await redeliver(taskId);
    expect(await readsOfTwo(taskId)).toBe(2);

    restore();
    await current();
    expect(await read(taskId)).toMatchObject({ state: 'pending' });
  });

  it('reads an ended task each time when the network swallows the connection of the listener without an error', async () => {
    await listener.close();
    listen(proxy.url);
    await current();
    const taskId = await endedTask(hook);
    await isKept(taskId);

    const flow = proxy.swallow();
    await redeliver(taskId);
    await eventually(async () => JSON.stringify(await read(taskId)) !== JSON.stringify(before));
    expect(await readsOfTwo(taskId)).toBe(2);
    flow();
  });

  it('keeps no answer behind a pooler, which lends the session of the listener to others', async () => {
    await listener.close();
    proxy.renameProcesses(true);
    listen(proxy.url);
    const taskId = await endedTask();
    await eventually(() => Promise.resolve(warnings.some((warning) => warning.includes('a pooler may lose'))));
    expect(listener.isCurrent()).toBe(false);
    expect(await readsOfTwo(taskId)).toBe(2);
    proxy.renameProcesses(false);
  });
});

describe('the memory for answers', () => {
  it('holds an answer from the second read on, because most tasks are read once when they have ended', async () => {
    const taskId = await aRunningTask(db, book, null);
    await succeed(db, taskId);
    expect(await readsOfTwo(taskId)).toBe(2);
    await eventually(async () => (await readsOfTwo(taskId)) === 0);
  });

  it('is bounded: beyond 32 MB the oldest answers are dropped', () => {
    const bounded = createTaskAnswers(() => true);
    const big = { body: Buffer.alloc(1_000_000), etag: '"1"' };
    const requests = Array.from({ length: 40 }, (_, n) => ({ taskId: `task_${n}`, projectId: 'prj_1' }));
    for (const one of requests) for (let time = 0; time < 2; time++) bounded.reading()(one, 'task', big);
    const kept = requests.filter((one) => bounded.find(one, 'task'));
    expect(kept).toEqual(requests.slice(-kept.length));
    expect(kept.length).toBeGreaterThanOrEqual(29);
    expect(kept.length).toBeLessThanOrEqual(31);
  });
});
