import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { TaskView } from '../../../src/domain/tasks/task-view.ts';
import { listVideos } from '../../../src/services/tasks/show/list-videos.ts';
import type { Database } from '../../../src/db/database.ts';
import { listProjectTasks, type ProjectTasksFilter } from '../../../src/db/tasks/list-tasks.ts';
import { purgeTasks } from '../../../src/db/scheduled-jobs/retention.ts';
import { listTaskRows } from '../../../src/db/tasks/list-task-rows.ts';
import type { Page, PageRequest } from '../../../src/domain/page.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { manyTasks, type ListedBook, type ListedTask } from '../../support/many-tasks.ts';
import { readsOf, stopAutovacuum } from '../block-reads.ts';
import { addKey, admitted, newId, newTask, openBook, openLedger, rowsOf, run, taskEnd, type Book } from '../books.ts';

const count = 30_000;

let scratch: TestDatabase;
let db: Database;
let observer: Database;
let book: ListedBook;
/** Newest first. */
let all: ListedTask[];

beforeAll(async () => {
  scratch = await createTestDatabase();
  observer = await scratch.open({ poolMax: 1, statementTimeoutMs: 300_000 });
  await stopAutovacuum(observer);
  db = await scratch.open({ poolMax: 1 });
  const owner = await openBook(observer, { credits: 1_000 });
  book = { ...owner, rareKeyId: await addKey(observer, owner.projectId) };
  for (const text of manyTasks(book, count)) await run(observer, text);
  all = await rowsOf<ListedTask>(
    observer,
    `select id, type, status, model_id, key_id, extract(epoch from created_at)::float8 as created from task where project_id = $1
     order by created_at desc, id desc`,
    [book.projectId],
  );
});
afterAll(() => scratch.drop());

const idsOf = (tasks: readonly { id: string }[]): string[] => tasks.map(({ id }) => id);

/** Every page of a list, in its order. */
async function pagesOf(
  filter: ProjectTasksFilter,
  limit: number,
  between?: () => Promise<unknown>,
): Promise<TaskView[]> {
  const tasks: TaskView[] = [];
  for (let after: string | null = null, pages = 0; pages === 0 || after !== null; pages++) {
    const page = await listProjectTasks(db, filter, { limit, after });
    tasks.push(...page.items);
    after = page.next;
    await between?.();
  }
  return tasks;
}

/** Every combination of the filters, with values that match most tasks, a few old ones and none. */
function combinations(): Omit<ProjectTasksFilter, 'projectId'>[] {
  const statuses = [undefined, 'processing', 'succeeded', 'canceled', 'failed'] as const;
  const types = [undefined, 'video', 'image'] as const;
  const models = [undefined, 'model-video', 'model-rare', 'model-none'];
  const keys = [undefined, book.keyId, book.rareKeyId, 'key_none'];
  const middle = all[count / 2]?.created ?? 0;
  const ranges = [{}, { createdBefore: Math.floor(middle) }];
  return statuses.flatMap((status) =>
    types.flatMap((type) =>
      models.flatMap((modelId) =>
        keys.flatMap((keyId) => ranges.map((range) => ({ status, type, modelId, keyId, ...range }))),
      ),
    ),
  );
}

const matching = (filter: Omit<ProjectTasksFilter, 'projectId'>): ListedTask[] =>
  all.filter(
    ({ status, type, modelId, keyId, created }) =>
      (filter.status ?? status) === status &&
      (filter.type ?? type) === type &&
      (filter.modelId ?? modelId) === modelId &&
      (filter.keyId ?? keyId) === keyId &&
      created >= (filter.createdFrom ?? 0) &&
      created < (filter.createdBefore ?? Infinity),
  );

describe('a page of tasks', () => {
  it('has the newest tasks of every combination of filters, and reads few blocks however many tasks the filters leave out', async () => {
    const reads = readsOf(observer, db);
    const wrong: unknown[] = [];
    let blocksOfDearest = 0;
    // The first calls plan the statements, and planning reads blocks too.
    for (const filter of combinations().slice(0, 64)) await listProjectTasks(db, { ...book, ...filter }, firstPage);
    for (const filter of combinations()) {
      let listed: string[] = [];
      const { blocks, scans } = await reads(async () => {
        listed = idsOf((await listProjectTasks(db, { ...book, ...filter }, firstPage)).items);
      });
      blocksOfDearest = Math.max(blocksOfDearest, blocks);
      const expected = idsOf(matching(filter).slice(0, 20));
      if (blocks > blocksMax || scans.length > 0 || listed.join() !== expected.join())
        wrong.push({ filter, blocks, scans, listed: listed.length, expected: expected.length });
    }
    expect(wrong).toEqual([]);
    expect(blocksOfDearest).toBeGreaterThan(20);
  });

  it('reads no more blocks when it is far from the newest task', async () => {
    const middle = all[count / 2];
    const after = `${Math.round((middle?.created ?? 0) * 1_000_000)}.${middle?.id}`;
    let listed: string[] = [];
    const { blocks } = await readsOf(
      observer,
      db,
    )(async () => {
      listed = idsOf((await listProjectTasks(db, { projectId: book.projectId }, { limit: 20, after })).items);
    });
    expect(listed).toEqual(idsOf(all.slice(count / 2 + 1, count / 2 + 21)));
    expect(blocks).toBeLessThan(blocksMax);
  });

  it('of a list of videos reads no more blocks, from both ends and from the middle', async () => {
    const videos = all.filter(({ type }) => type === 'video');
    const middle = videos[Math.floor(videos.length / 2)]?.id ?? '';
    const wrong: unknown[] = [];
    for (const oldestFirst of [false, true]) {
      const ordered = idsOf(oldestFirst ? videos.toReversed() : videos);
      for (const after of [undefined, middle]) {
        const list = () =>
          listVideos(
            { db },
            { projectId: book.projectId, oldestFirst, limit: 20, ...(after !== undefined && { after }) },
          );
        // The first calls plan the statements.
        for (let n = 0; n < 6; n++) await list();
        let listed: string[] = [];
        const { blocks, scans } = await readsOf(
          observer,
          db,
        )(async () => {
          listed = idsOf((await list()).items);
        });
        const start = after === undefined ? 0 : ordered.indexOf(after) + 1;
        expect(listed).toEqual(ordered.slice(start, start + 20));
        if (blocks > blocksMax || scans.length > 0) wrong.push({ oldestFirst, after, blocks, scans });
      }
    }
    expect(wrong).toEqual([]);
  });

  it('has only tasks from the asked times, of which the first is included and the second is not', async () => {
    const [from, before] = [Math.floor(all[300]?.created ?? 0), Math.floor(all[40]?.created ?? 0)];
    const listed = await pagesOf({ ...book, keyId: undefined, createdFrom: from, createdBefore: before }, 100);
    expect(idsOf(listed)).toEqual(idsOf(matching({ createdFrom: from, createdBefore: before })));
    expect(listed.map(({ createdAt }) => createdAt)).toContain(from);
    expect(listed.map(({ createdAt }) => createdAt)).not.toContain(before);
  });
});

describe('the pages of a list', () => {
  it.each([
    ['all tasks', {}, 100],
    ['failed tasks', { status: 'failed' }, 33],
    ['tasks of a rare model', { modelId: 'model-rare' }, 7],
  ] as const)(
    'have each of %s once, also where tasks were created in the same microsecond',
    async (_, filter, limit) => {
      const listed = await pagesOf({ projectId: book.projectId, ...filter }, limit);
      expect(idsOf(listed)).toEqual(idsOf(matching(filter)));
    },
  );

  it('have every task once that was there before the first page, while tasks are created, end and leave the filter', async () => {
    const owner = await openBook(observer, { credits: 10_000 });
    const ledger = openLedger(db);
    const create = () => admitted(ledger, newTask(owner, 1));
    const before = await Promise.all(Array.from({ length: 60 }, create));
    const running = [...before];

    const listed = await pagesOf({ projectId: owner.projectId }, 7, async () => {
      const [ended] = running.splice(0, 1);
      if (ended) await ledger.finishTask(taskEnd(ended.taskId, 'failed'));
      await Promise.all([create(), create(), create()]);
    });

    expect(
      idsOf(listed)
        .filter((id) => before.some(({ taskId }) => taskId === id))
        .sort(),
    ).toEqual(before.map(({ taskId }) => taskId).sort());
    expect(new Set(idsOf(listed)).size).toBe(listed.length);
  });
});

describe('a list', () => {
  it("has neither another project's tasks nor tasks that were never admitted, also by another project's key", async () => {
    const [mine, other]: Book[] = [await openBook(observer, { credits: 2 }), await openBook(observer, { credits: 9 })];
    const ledger = openLedger(db);
    if (!mine || !other) throw new Error('two projects are needed');
    const { taskId } = await admitted(ledger, newTask(mine, 1));
    const open = newTask(mine, 1);
    await ledger.createTask(open);
    const rejected = newTask(mine, 1);
    await ledger.createTask(rejected);
    await run(observer, `update api_key set in_flight_max = 1 where id = $1`, [mine.keyId]);
    expect(await ledger.reserveTask(rejected.taskId, true)).toMatchObject({ admitted: false });
    const foreign = await admitted(ledger, newTask(other, 1));
    await ledger.finishTask(taskEnd(foreign.taskId, 'failed'));

    expect(idsOf(await pagesOf({ projectId: mine.projectId }, 10))).toEqual([taskId]);
    expect(await pagesOf({ projectId: mine.projectId, keyId: other.keyId }, 10)).toEqual([]);
    expect(idsOf(await pagesOf(other, 10))).toEqual([foreign.taskId]);
  });
});

describe('a list of a task that was delivered again', () => {
  const readers = {
    'a client': (filter, page) => listProjectTasks(db, filter, page),
    'an operator': ({ oldestFirst, ...filter }, page) =>
      listTaskRows(db, filter, { ...page, sort: oldestFirst ? 'oldest' : 'newest' }),
    'an operator by a column': ({ oldestFirst, ...filter }, page) =>
      listTaskRows(db, filter, { ...page, sort: oldestFirst ? 'created_at' : '-created_at' }),
  } satisfies Record<string, (filter: ProjectTasksFilter, page: PageRequest) => Promise<Page<TaskView>>>;

  it.each(
    Object.entries(readers).flatMap(([reader, list]) => [
      { reader, order: 'newest', oldestFirst: false, list },
      { reader, order: 'oldest', oldestFirst: true, list },
    ]),
  )('shows its last delivery to $reader, $order first', async ({ oldestFirst, list }) => {
    const owner = await openBook(observer, { credits: 2 });
    const ledger = openLedger(db);
    const { taskId } = await admitted(ledger, newTask(owner, 1, { callbackUrl: 'https://client.example/' }));
    await ledger.finishTask(taskEnd(taskId, 'failed'));
    await run(observer, 'select redeliver($1, $2, $3, 0, 9)', [taskId, newId('dlv'), newId('evt')]);
    const { items } = await list({ projectId: owner.projectId, oldestFirst }, firstPage);
    expect(items).toMatchObject([{ id: taskId, callback: { state: 'pending' } }]);
  });
});

describe('a list of large tasks', () => {
  it.each([
    ['newest first', {}],
    ['oldest first', { oldestFirst: true }],
    ['by metadata', { metadata: { env: 'prod' } }],
  ])('has pages of at most 128 kB, or of one task, and still each task once, %s', async (_order, filter) => {
    const owner = await openBook(observer);
    const prefix = `task_${owner.projectId}_`;
    await run(observer, `set session_replication_role = replica`);
    // The text compresses to a hundredth, which tells nothing of the page.
    await run(
      observer,
      `insert into task (id, project_id, key_id, request_id, type, model_id, status, admission, input, output, snapshot, credits_quoted, metadata,
                         created_at, completed_at, deadline_at)
       select $3 || lpad(n::text, 3, '0'), $1, $2, 'req_t', 'image', 'model-a', 'succeeded', 'reserved',
         jsonb_build_object('prompt', repeat('fox ', case when n % 10 = 0 then 50000 when n % 3 = 0 then 10000 else 100 end)), '[]', '{}', 1,
         '{"env": "prod"}', at, at, at
       from generate_series(1, 60) n cross join lateral (select clock_timestamp() - n * interval '1 second' as at) given`,
      [owner.projectId, owner.keyId, prefix],
    );
    await run(
      observer,
      `insert into task_metadata (pair, created_at, task_id)
       select metadata_pair(project_id, 'env', 'prod'), created_at, id from task where project_id = $1`,
      [owner.projectId],
    );
    await run(observer, `set session_replication_role = origin`);
    const listed: string[] = [];
    const pages: { tasks: number; isLarge: boolean }[] = [];
    for (let after: string | null = null; pages.length === 0 || after !== null;) {
      const page = await listProjectTasks(db, { projectId: owner.projectId, ...filter }, { limit: 50, after });
      const bytes = JSON.stringify(
        page.items.map(({ input, output, metadata }) => ({ input, output, metadata })),
      ).length;
      pages.push({ tasks: page.items.length, isLarge: bytes > 128_000 });
      listed.push(...idsOf(page.items));
      after = page.next;
    }
    expect(pages.filter(({ tasks, isLarge }) => tasks === 0 || (isLarge && tasks > 1))).toEqual([]);
    const all = Array.from({ length: 60 }, (_, index) => `${prefix}${String(index + 1).padStart(3, '0')}`);
    expect(listed).toEqual('oldestFirst' in filter ? all.toReversed() : all);
  });
});

describe('a list of tasks by their metadata', () => {
  it('has the tasks of every combination, and compares few tasks with the filter however many have a part of it', async () => {
    const owner = await openBook(observer);
    await run(observer, `set session_replication_role = replica`);
    await run(
      observer,
      `insert into task (id, project_id, key_id, request_id, type, model_id, status, admission, output, snapshot, credits_quoted, metadata,
                         created_at, completed_at, deadline_at)
       select 'task_meta_' || n, $1, $2, 'req_t', 'image', 'model-a', case when n % 2000 = 1 then 'canceled' else 'succeeded' end, 'reserved',
         '[]', '{}', 1, jsonb_build_object('env', 'prod', 'half', case when n <= 10000 then 'old' else 'new' end,
           'user', case when n % 1500 = 7 then 'rare' else 'many' end), at, at, at
       from generate_series(1, 20000) n cross join lateral (select clock_timestamp() - n * interval '1 second' as at) given`,
      [owner.projectId, owner.keyId],
    );
    await run(
      observer,
      `insert into task_metadata (pair, created_at, task_id)
       select metadata_pair(project_id, e.key, e.value), created_at, id from task cross join lateral jsonb_each_text(metadata) e
       where project_id = $1`,
      [owner.projectId],
    );
    await run(observer, `set session_replication_role = origin`);
    await run(observer, 'vacuum analyze task, task_metadata');
    const mine = await rowsOf<ListedTask & { metadata: Record<string, string> }>(
      observer,
      'select id, status, metadata from task where project_id = $1 order by created_at desc, id desc',
      [owner.projectId],
    );
    const wrong: unknown[] = [];
    const values = { env: [undefined, 'prod', 'test'], half: [undefined, 'new'], user: [undefined, 'rare', 'many'] };
    for (const env of values.env)
      for (const half of values.half)
        for (const user of values.user)
          for (const status of [undefined, 'canceled'] as const) {
            const metadata = Object.fromEntries(
              Object.entries({ env, half, user }).flatMap(([name, value]) =>
                value === undefined ? [] : [[name, value]],
              ),
            );
            const expected = mine.filter(
              (task) =>
                (status ?? task.status) === task.status &&
                Object.entries(metadata).every(([name, value]) => task.metadata[name] === value),
            );
            let listed: string[] = [];
            const { blocks, scans } = await readsOf(
              observer,
              db,
            )(async () => {
              const filter = { projectId: owner.projectId, status, metadata };
              listed = idsOf((await listProjectTasks(db, filter, firstPage)).items);
            });
            // Each of up to four scans compares at most 1,000 tasks, of which each is found by its id.
            if (blocks > 4 * 1_000 * 5 || scans.length > 0 || listed.join() !== idsOf(expected.slice(0, 20)).join())
              wrong.push({ metadata, status, blocks, scans, listed: listed.length, expected: expected.length });
          }
    expect(wrong).toEqual([]);
  });

  it('has shorter pages, and still each task once, where every part of the filter has many tasks and few have all', async () => {
    const owner = await openBook(observer);
    await run(observer, `set session_replication_role = replica`);
    await run(
      observer,
      `insert into task (id, project_id, key_id, request_id, type, model_id, status, admission, output, snapshot, credits_quoted, metadata,
                         created_at, completed_at, deadline_at)
       select 'task_mix_' || n, $1, $2, 'req_t', 'image', 'model-a', 'succeeded', 'reserved', '[]', '{}', 1,
         jsonb_build_object('a', (n % 2)::text, 'b', ((n + case when n % 1777 = 0 then 0 else 1 end) % 2)::text), at, at, at
       from generate_series(1, 6000) n cross join lateral (select clock_timestamp() - n * interval '1 second' as at) given`,
      [owner.projectId, owner.keyId],
    );
    await run(
      observer,
      `insert into task_metadata (pair, created_at, task_id)
       select metadata_pair(project_id, e.key, e.value), created_at, id from task cross join lateral jsonb_each_text(metadata) e
       where project_id = $1`,
      [owner.projectId],
    );
    await run(observer, `set session_replication_role = origin`);
    const filter = { projectId: owner.projectId, metadata: { a: '1', b: '1' } };
    expect((await listProjectTasks(db, filter, firstPage)).next).not.toBeNull();
    expect(idsOf(await pagesOf(filter, 20))).toEqual(['task_mix_1777', 'task_mix_5331']);
  });

  it('has a task that was created twice with the same id once, and none that was deleted', async () => {
    const owner = await openBook(observer, { credits: 10 });
    const ledger = openLedger(db);
    const task = newTask(owner, 1, { metadata: { order: '7' } });
    await ledger.createTask(task);
    await admitted(ledger, task);
    const filter = { projectId: owner.projectId, metadata: { order: '7' } };
    expect(idsOf(await pagesOf(filter, 20))).toEqual([task.taskId]);

    await ledger.finishTask(taskEnd(task.taskId, 'failed'));
    await run(observer, `update task set completed_at = '2020-01-01' where id = $1`, [task.taskId]);
    await purgeTasks(db, 1, 100);
    expect(await rowsOf(observer, 'select from task_metadata where task_id = $1', [task.taskId])).toEqual([]);
  });
});

describe('the indexes of the list', () => {
  it('are not written when an attempt starts, only when the task ends', async () => {
    const { taskId } = await admitted(openLedger(db), newTask(await openBook(observer, { credits: 1 }), 1));
    const heapOnly = async (): Promise<number | undefined> => {
      for (const session of [db, observer]) await run(session, 'select pg_stat_force_next_flush()');
      await run(observer, 'select pg_stat_clear_snapshot()');
      const [row] = await rowsOf<{ n: number }>(
        observer,
        `select n_tup_hot_upd::float8 as n from pg_stat_user_tables where relname = 'task'`,
      );
      return row?.n;
    };
    const before = (await heapOnly()) ?? 0;
    await run(db, `update task set status = 'processing', attempts = 1, started_at = clock_timestamp() where id = $1`, [
      taskId,
    ]);
    expect(await heapOnly()).toBe(before + 1);
  });
});

const firstPage = { limit: 20, after: null };
/** Of a page of 20 tasks: some ten blocks for each task and its callback, and three for each of up to eight probes. */
const blocksMax = 300;
