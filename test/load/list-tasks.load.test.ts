import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Database } from '../../src/db/database.ts';
import { listProjectTasks, type ProjectTasksFilter } from '../../src/db/tasks/list-tasks.ts';
import { addKey, admitted, newTask, openBook, openLedger, rowsOf, run, taskEnd } from '../db/books.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { manyTasks, type ListedBook } from '../support/many-tasks.ts';

const count = 1_000_000;
/** Milliseconds that a page may take, with the way to the database and back. */
const pageMsMax = 20;

let scratch: TestDatabase;
let db: Database;
let book: ListedBook;

beforeAll(async () => {
  scratch = await createTestDatabase();
  const owner = await scratch.open({ poolMax: 1, statementTimeoutMs: 1_200_000 });
  const opened = await openBook(owner, { credits: 1_000 });
  book = { ...opened, rareKeyId: await addKey(owner, opened.projectId) };
  for (const text of manyTasks(book, count)) await run(owner, text);
  db = await scratch.open({ poolMax: 1 });
});
afterAll(() => scratch.drop());

it(`each page of every combination of filters takes less than ${pageMsMax} ms among a million tasks of a project`, async () => {
  const [middle] = await rowsOf<{ position: string; second: number }>(
    db,
    `select (extract(epoch from created_at) * 1000000)::bigint || '.' || id as position, floor(extract(epoch from created_at))::float8 as second
     from task where id = 'task_0' || lpad($1::text, 25, '0')`,
    [String(count / 2)],
  );
  const times: { ms: number; filter: Omit<ProjectTasksFilter, 'projectId'>; limit: number; after: string | null }[] =
    [];
  for (const status of [undefined, 'processing', 'succeeded', 'failed', 'canceled'] as const)
    for (const type of [undefined, 'video', 'image'] as const)
      for (const modelId of [undefined, 'model-video', 'model-rare', 'model-none'])
        for (const keyId of [undefined, book.keyId, book.rareKeyId])
          for (const createdBefore of [undefined, middle?.second])
            for (const { limit, after } of [
              { limit: 20, after: null },
              { limit: 100, after: middle?.position ?? null },
            ]) {
              const filter = { status, type, modelId, keyId, createdBefore };
              const taken: number[] = [];
              // The least of three, because other processes share the machine.
              for (let call = 0; call < 3; call++) {
                const begun = performance.now();
                await listProjectTasks(db, { projectId: book.projectId, ...filter }, { limit, after });
                taken.push(performance.now() - begun);
              }
              times.push({ ms: Math.min(...taken), filter, limit, after });
            }
  const sorted = times.toSorted((a, b) => b.ms - a.ms);
  const median = sorted[Math.floor(sorted.length / 2)]?.ms ?? 0;
  process.stdout.write(
    `${times.length} pages: median ${median.toFixed(1)} ms, slowest ${sorted[0]?.ms.toFixed(1)} ms\n`,
  );
  expect(sorted.filter(({ ms }) => ms >= pageMsMax)).toEqual([]);
});

it(`the pages of the whole list have each of a million tasks once while tasks are created and end, none in more than ${pageMsMax} ms`, async () => {
  const ledger = openLedger(await scratch.open());
  const walk = new AbortController();
  const creating = (async (): Promise<number> => {
    let created = 0;
    for (; !walk.signal.aborted; created += 1) {
      const { taskId } = await admitted(ledger, newTask(book, 1));
      await ledger.finishTask(taskEnd(taskId, 'failed'));
    }
    return created;
  })();
  const seen = new Set<string>();
  let listed = 0;
  const slow: number[] = [];
  for (let after: string | null = null, pages = 0; pages === 0 || after !== null; pages += 1) {
    const { ms, page } = await readPage(after);
    if (ms >= pageMsMax) slow.push(ms);
    listed += page.items.length;
    for (const { id } of page.items) seen.add(id);
    after = page.next;
  }
  walk.abort();
  const created = await creating;
  process.stdout.write(`${listed} tasks listed while ${created} were created\n`);
  expect(created).toBeGreaterThan(100);
  expect(seen.size).toBe(listed);
  expect([...seen].filter((id) => /^task_0\d{25}$/.test(id)).length).toBe(count);
  expect(slow).toEqual([]);
});

/** One page, and the least time of three tries if the first is slow, because other processes share the machine. */
async function readPage(after: string | null) {
  let ms = Infinity;
  for (let tries = 0; ; tries += 1) {
    const begun = performance.now();
    const page = await listProjectTasks(db, { projectId: book.projectId }, { limit: 100, after });
    ms = Math.min(ms, performance.now() - begun);
    if (ms < pageMsMax || tries === 2) return { ms, page };
  }
}
