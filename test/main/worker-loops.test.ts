import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Adapter } from '../../src/adapters/channel.ts';
import type { Database } from '../../src/db/database.ts';
import type { Deps } from '../../src/deps.ts';
import type { Built } from '../../src/main/build-deps.ts';
import { startLoops } from '../../src/main/worker-loops.ts';
import {
  accountOf,
  admitted,
  breachesIn,
  entriesOf,
  newId,
  newTask,
  openBook,
  openLedger,
  rowsOf,
  run,
  type Book,
} from '../db/books.ts';
import { anAdmission, openChatLedger } from '../db/chat-books.ts';
import { buildQuietDeps } from '../support/built-deps.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';

let scratch: TestDatabase;
let db: Database;
let built: Built;
let book: Book;
beforeAll(async () => {
  scratch = await createTestDatabase();
  db = await scratch.open();
  built = await buildQuietDeps(scratch.url);
  book = await openBook(db, { credits: 1_000 });
});
afterAll(async () => {
  await built?.close();
  await scratch?.drop();
});
afterEach(async () => expect(await breachesIn(db)).toEqual([]));

/** Channels whose providers received a stop, in order. */
const stopped: string[] = [];

async function aChannel(adapter: string): Promise<string> {
  const id = newId('chn');
  await run(
    db,
    `insert into channel (id, name, adapter, base_url, credential, groups) values ($1, $1, $2, 'https://upstream.example', $3, '{}')`,
    [id, adapter, built.deps.sealer.seal('secret', `channel|credential|${id}`)],
  );
  return id;
}

/** A task past its deadline whose job a channel's provider has accepted. */
async function staleTaskOn(channelId: string): Promise<string> {
  const { taskId } = await admitted(openLedger(db), newTask(book, 1));
  await run(
    db,
    `insert into attempt (id, request_id, n, channel_id, channel_name, fence, submit_deadline, operation)
     values ($1, $2, 1, $3, 'channel', 'fence', clock_timestamp(), '{"job": "one"}')`,
    [newId('att'), taskId, channelId],
  );
  await run(db, `update task set deadline_at = clock_timestamp() - interval '1 second' where id = $1`, [taskId]);
  return taskId;
}

const hasFailed = async (taskIds: string[]) =>
  (await rowsOf(db, `select 1 from task where id = any ($1) and status = 'failed'`, [taskIds])).length ===
  taskIds.length;

describe('while a provider answers no stop', () => {
  it('other stale tasks are ended and stopped, and expired chats are refunded', async () => {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const provider = (answer: () => Promise<void>): Adapter => ({
      async cancelMedia({ channelId }) {
        stopped.push(channelId);
        await answer();
        return 'stopped';
      },
    });
    const deps: Deps = {
      ...built.deps,
      config: { ...built.deps.config, sweeps: { ...built.deps.config.sweeps, intervalSeconds: 0.1 } },
      adapters: { hanging: provider(() => released), quick: provider(() => Promise.resolve()) },
      workflows: {
        ...built.deps.workflows,
        start: () => Promise.resolve('started'),
        cancel: () => Promise.resolve(true),
      },
    };
    const hanging = await aChannel('hanging');
    const stuck: string[] = [];
    for (let n = 0; n < 40; n++) stuck.push(await staleTaskOn(hanging));
    const loops = startLoops(deps);
    try {
      await eventually(() => hasFailed(stuck), { what: 'the end of the stale tasks' });
      await eventually(() => Promise.resolve(stopped.length > 0), { what: 'the first stop' });

      const quick = await aChannel('quick');
      const other = await staleTaskOn(quick);
      const chat = anAdmission(book, { credits: 5 });
      await openChatLedger(db).admit(chat);
      await run(db, `update hold set expires_at = clock_timestamp() where id = $1`, [chat.requestId]);
      await eventually(async () => (await entriesOf(db, chat.requestId))['refund'] === 1, {
        what: 'the refund of the expired chat',
      });
      await eventually(() => hasFailed([other]), { what: 'the end of the other stale task' });
      await eventually(() => Promise.resolve(stopped.includes(quick)), { what: 'the stop at the other provider' });
      expect(await accountOf(db, book.projectId)).toMatchObject({ balance: 1_000, reserved: 0 });
    } finally {
      release();
      await loops.stop();
    }
  });
});

describe('while Temporal is away', () => {
  it('the starter claims no more tasks after the first failure, and starts those that wait on its return', async () => {
    const taskIds: string[] = [];
    for (let n = 0; n < 3; n++) taskIds.push((await admitted(openLedger(db), newTask(book, 1))).taskId);
    await run(db, 'update task set workflow_started_at = null where id = any ($1)', [taskIds]);
    let isBack = false;
    let starts = 0;
    let checks = 0;
    const loops = startLoops({
      ...built.deps,
      workflows: {
        ...built.deps.workflows,
        start: () => Promise.resolve(isBack ? 'started' : (starts++, 'unreachable')),
        isReachable: () => Promise.resolve((checks++, isBack)),
      },
    });
    const started = `select 1 from task where id = any ($1) and workflow_started_at is not null`;
    try {
      await eventually(() => Promise.resolve(starts > 0 && checks > 4), { what: 'a start that fails' });
      expect(starts).toBe(3);
      isBack = true;
      await eventually(async () => (await rowsOf(db, started, [taskIds])).length === 3, { what: 'the starts' });
    } finally {
      await loops.stop();
    }
  });
});
