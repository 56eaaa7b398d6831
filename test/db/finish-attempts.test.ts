import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  beginAttempt,
  endAttempt,
  saveProviderRef,
  saveResult,
  startAttempt,
  type AttemptStart,
} from '../../src/db/tasks/attempts.ts';
import type { Database } from '../../src/db/database.ts';
import type { AttemptFinish, Ledger } from '../../src/db/ledger/ledger.ts';
import type { JsonObject } from '../../src/domain/json.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
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
  taskEnd,
  type Book,
} from './books.ts';

let scratch: TestDatabase;
let db: Database;
let ledger: Ledger;
/** The ledger of another worker. */
let otherLedger: Ledger;
let book: Book;
let channelId: string;

beforeAll(async () => {
  scratch = await createTestDatabase();
  db = await scratch.open();
  ledger = openLedger(db);
  otherLedger = openLedger(await scratch.open());
  book = await openBook(db, { credits: 1_000 });
  channelId = newId('chn');
  await run(
    db,
    `insert into channel (id, name, adapter, base_url, credential, groups) values ($1, $1, 'fal', 'http://127.0.0.1', 'sealed', '{default}')`,
    [channelId],
  );
});
afterAll(() => scratch.drop());

async function newStart(input: JsonObject = { prompt: 'a red fox' }): Promise<AttemptStart> {
  const snapshot = { groups: ['default'], upstream: { fal: { model: 'm', cost_micro_usd: 77, parameters: {} } } };
  const { taskId } = await admitted(
    ledger,
    newTask(book, 5, { input, snapshot, callbackUrl: 'https://example.com/hook' }),
  );
  return {
    attemptId: newId('att'),
    taskId,
    channelId,
    fence: newId('fence'),
    submitSeconds: { image: 60, video: 120 },
    probeSeconds: 10,
    adapter: 'fal',
  };
}

const attemptsOf = (taskId: string) =>
  rowsOf<Record<string, unknown>>(
    db,
    `select id, fence, outcome, outputs, cost_micro_usd, submit_deadline < started_at + interval '90 seconds' as of_an_image from attempt
     where request_id = $1`,
    [taskId],
  );

describe('starting an attempt', () => {
  it('returns the task and begins the attempt, with the cost and the time limit that the task implies', async () => {
    const start = await newStart();
    expect(await startAttempt(db, start)).toMatchObject({
      started: true,
      begun: null,
      type: 'image',
      input: { prompt: 'a red fox' },
    });
    expect(await attemptsOf(start.taskId)).toMatchObject([
      { id: start.attemptId, fence: start.fence, outcome: null, costMicroUsd: 77, ofAnImage: true },
    ]);
    expect(await rowsOf(db, 'select status, attempts from task where id = $1', [start.taskId])).toEqual([
      { status: 'processing', attempts: 1 },
    ]);
  });

  it('lets the same worker go on after a lost answer, and no other worker', async () => {
    const start = await newStart();
    await startAttempt(db, start);
    expect(await startAttempt(db, start)).toMatchObject({ started: true, begun: null });
    const other = { ...start, attemptId: newId('att'), fence: newId('fence') };
    expect(await startAttempt(db, other)).toMatchObject({ started: false, begun: { outcome: null } });
    await saveProviderRef(db, start, { id: 'job' });
    expect(await startAttempt(db, start)).toMatchObject({ started: false, begun: { outcome: null } });
    expect(await attemptsOf(start.taskId)).toHaveLength(1);
  });

  it('lets one of eight concurrent workers begin', async () => {
    const start = await newStart();
    const starts = await Promise.all(
      Array.from({ length: 8 }, () => startAttempt(db, { ...start, attemptId: newId('att'), fence: newId('fence') })),
    );
    expect(starts.filter((begun) => begun?.started)).toHaveLength(1);
    expect(await attemptsOf(start.taskId)).toHaveLength(1);
  });

  it.each<[string, (start: AttemptStart) => Promise<unknown> | Partial<AttemptStart>]>([
    ['has ended', ({ taskId }) => ledger.finishTask(taskEnd(taskId, 'failed'))],
    [
      'is being canceled',
      ({ taskId }) => run(db, 'update task set cancel_requested_at = clock_timestamp() where id = $1', [taskId]),
    ],
    [
      'is past its deadline',
      ({ taskId }) => run(db, `update task set deadline_at = clock_timestamp() where id = $1`, [taskId]),
    ],
    ['cannot be made by the adapter', () => ({ adapter: 'kling' })],
  ])('begins no attempt for a task that %s', async (_what, change) => {
    const start = await newStart();
    const changed = await change(start);
    const overrides = changed !== null && typeof changed === 'object' && 'adapter' in changed ? changed : {};
    expect(await startAttempt(db, { ...start, ...overrides })).toMatchObject({ started: false, begun: null });
    expect(await attemptsOf(start.taskId)).toEqual([]);
  });

  it('only reads a task whose inputs must be prepared first', async () => {
    const start = await newStart({ prompt: 'a red fox', image: 'https://example.com/a.png' });
    expect(await startAttempt(db, start)).toMatchObject({ started: false, begun: null });
    expect(await attemptsOf(start.taskId)).toEqual([]);
  });

  it('returns null for a task without a verdict', async () => {
    const task = newTask(book, 5);
    await ledger.createTask(task);
    expect(await startAttempt(db, { ...(await newStart()), taskId: task.taskId })).toBeNull();
  });
});

/** An attempt whose result is copied, and its end. */
async function copied(): Promise<AttemptFinish> {
  const start = await newStart();
  await startAttempt(db, start);
  await saveProviderRef(db, start, { id: 'job' });
  const draft = { id: newId('file'), storageKey: `outputs/${start.attemptId}-0` };
  const files = { projectId: book.projectId, taskId: start.taskId, drafts: [draft], keptSeconds: 60 };
  await saveResult(db, start, [{ url: 'https://example.com/a.png' }], files);
  const media = { mimeType: 'image/png', bytes: 4_000, sha256: 'aa', width: 64, height: 48, duration: null };
  const { attemptId, fence, taskId } = start;
  return { ...taskEnd(taskId, 'succeeded'), attemptId, fence, files: [{ ...draft, ...media }] };
}

const fileRowsOf = (taskId: string) => rowsOf(db, 'select id, bytes, width from file where task_id = $1', [taskId]);

describe('finishing an attempt', () => {
  it('records the files, the outcome, the charge and the callback once, for eight concurrent calls of two workers', async () => {
    const end = await copied();
    const ends = await Promise.all(
      Array.from({ length: 8 }, (_, n) => (n % 2 === 0 ? ledger : otherLedger).finishAttempt(end)),
    );
    expect(ends.filter((finish) => finish?.finished)).toHaveLength(1);
    for (const finish of ends) expect(finish).toMatchObject({ status: 'succeeded', deliveryId: end.deliveryId });
    expect(await entriesOf(db, end.taskId)).toEqual({ settle: 1 });
    expect(await fileRowsOf(end.taskId)).toEqual([{ id: end.files[0]?.id, bytes: 4_000, width: 64 }]);
    const [attempt] = await attemptsOf(end.taskId);
    expect(attempt).toMatchObject({ outcome: 'ok' });
    const [task] = await rowsOf<{ output: unknown }>(db, 'select output from task where id = $1', [end.taskId]);
    expect(task?.output).toEqual(attempt?.['outputs']);
    expect(task?.output).toEqual([
      {
        file_id: end.files[0]?.id,
        mime_type: 'image/png',
        bytes: 4_000,
        width: 64,
        height: 48,
        duration: null,
        sha256: 'aa',
        expires_at: expect.any(Number),
      },
    ]);
    expect(await breachesIn(db)).toEqual([]);
  });

  it('changes nothing for a worker whose attempt was taken over or has ended otherwise', async () => {
    const end = await copied();
    const before = await accountOf(db, book.projectId);
    expect(await ledger.finishAttempt({ ...end, fence: 'older' })).toBeNull();
    await endAttempt(db, end, { outcome: 'refused', code: 'output_unavailable' });
    expect(await ledger.finishAttempt(end)).toBeNull();
    expect(await attemptsOf(end.taskId)).toMatchObject([{ outcome: 'refused', outputs: null }]);
    expect(await fileRowsOf(end.taskId)).toMatchObject([{ bytes: 0 }]);
    expect(await accountOf(db, book.projectId)).toEqual(before);
  });

  it('keeps the end and the refund of a task that has ended before, and returns them', async () => {
    const end = await copied();
    await ledger.finishTask(taskEnd(end.taskId, 'canceled'));
    expect(await ledger.finishAttempt(end)).toMatchObject({ finished: false, status: 'canceled' });
    expect(await attemptsOf(end.taskId)).toMatchObject([{ outcome: 'ok' }]);
    expect(await entriesOf(db, end.taskId)).toEqual({ refund: 1 });
  });

  it('fails if retention has deleted the draft of a file, and the other ends of the batch are written', async () => {
    const [lost, kept] = [await copied(), await copied()];
    await run(db, 'update file set deleted_at = clock_timestamp() where task_id = $1', [lost.taskId]);
    const [first, second] = await Promise.allSettled([ledger.finishAttempt(lost), ledger.finishAttempt(kept)]);
    expect(first).toMatchObject({ status: 'rejected' });
    expect(second).toMatchObject({ status: 'fulfilled', value: { finished: true, status: 'succeeded' } });
    expect(await entriesOf(db, lost.taskId)).toEqual({ hold: 1 });
    expect(await attemptsOf(lost.taskId)).toMatchObject([{ outcome: null }]);
  });

  it('does not deadlock with ends and new attempts of the same tasks in another worker', async () => {
    const ends = await Promise.all(Array.from({ length: 12 }, copied));
    const backward = [...ends].reverse();
    const before = await accountOf(db, book.projectId);
    await Promise.all([
      ...ends.map((end) => ledger.finishAttempt(end)),
      ...backward.map(({ taskId }) => otherLedger.finishTask(taskEnd(taskId, 'failed'))),
      ...backward.map(({ taskId }) =>
        beginAttempt(db, {
          attemptId: newId('att'),
          taskId,
          channelId,
          fence: newId('fence'),
          submitSeconds: 60,
          costMicroUsd: 0,
          probeSeconds: 10,
          adapter: 'fal',
        }),
      ),
    ]);
    for (const { taskId } of ends) expect(Object.values(await entriesOf(db, taskId))).toEqual([1]);
    const after = await accountOf(db, book.projectId);
    expect(after.reserved).toBe(before.reserved - 12 * 5);
    expect(await breachesIn(db)).toEqual([]);
  });
});
