import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import type { Adapter, StopAnswer } from '../../../../src/adapters/channel.ts';
import { cancelTask, decisionSecondsMax, type CancelDeps } from '../../../../src/services/tasks/end/cancel-task.ts';
import { createChannelCache } from '../../../../src/channels/channel-cache.ts';
import { decideAbandonedCancels } from '../../../../src/services/tasks/end/decide-abandoned-cancels.ts';
import { credentialContext } from '../../../../src/services/channels/unseal-credential.ts';
import { forceCancelTask } from '../../../../src/services/tasks/end/force-cancel-task.ts';
import type { AttemptDeps } from '../../../../src/services/tasks/attempt/run.ts';
import { runAttempt } from '../../../../src/services/tasks/attempt/run-attempt.ts';
import { stopUpstream } from '../../../../src/services/tasks/end/stop-upstream.ts';
import { testConfig } from '../../../support/test-config.ts';
import { refuseCancel, requestCancel } from '../../../../src/db/tasks/cancels.ts';
import type { Database } from '../../../../src/db/database.ts';
import type { Ledger } from '../../../../src/db/ledger/ledger.ts';
import { findTask } from '../../../../src/db/tasks/tasks.ts';
import type { AttemptReport } from '../../../../src/domain/tasks/workflow-contract.ts';
import type { PollResult } from '../../../../src/domain/channels/upstream.ts';
import type { TaskView } from '../../../../src/domain/tasks/task-view.ts';
import { createMemoryBudget } from '../../../../src/platform/memory-budget.ts';
import { createMetrics } from '../../../../src/platform/observe/metrics.ts';
import { createEgress } from '../../../../src/platform/egress/egress.ts';
import { createFileStore } from '../../../../src/platform/files/file-store.ts';
import { createSealer } from '../../../../src/platform/crypto/seal.ts';
import { createUrlSigner } from '../../../../src/platform/crypto/signed-url.ts';
import {
  admitted,
  entriesOf,
  newId,
  newTask,
  openBook,
  openLedger,
  run,
  taskEnd,
  type Book,
} from '../../../db/books.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { eventually } from '../../../support/eventually.ts';

let scratch: TestDatabase;
let db: Database;
let ledger: Ledger;
let book: Book;
let folder: string;

/** The provider's answers, and the calls that it received. */
let submits: number;
let stops: ('spare' | 'stop')[];
let poll: () => PollResult;
let stop: (running: 'spare' | 'stop') => Promise<StopAnswer>;

beforeAll(async () => {
  scratch = await createTestDatabase();
  db = await scratch.open({ poolMax: 10 });
  folder = mkdtempSync(join(tmpdir(), 'tollgate-cancels-'));
  ledger = openLedger(db);
  book = await openBook(db, { credits: 1_000 });
});
afterAll(async () => {
  await scratch.drop();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => {
  submits = 0;
  stops = [];
  poll = () => ({ kind: 'pending' });
  stop = () => Promise.resolve('stopped');
});

describe('a cancel whose stop the provider did not confirm in time', () => {
  it('is granted once a poll shows that the job has ended, and nothing more is bought', async () => {
    const task = await submitted();
    stop = () => {
      poll = () => ({ kind: 'failed', detail: 'canceled' });
      return Promise.resolve('unclear');
    };
    expect(await cancel(task)).toMatchObject({ status: 'canceled' });
    expect(await task.report).toEqual({ kind: 'canceled' });
    expect(await attemptNext(task)).not.toMatchObject({ kind: 'transient' });
    expect(submits).toBe(1);
    expect(await entriesOf(db, task.taskId)).toEqual({ refund: 1 });
  });
});

describe('a cancel that was refused', () => {
  it.each<[string, PollResult]>([
    ['fails', { kind: 'failed', detail: 'broken' }],
    ['is refused', { kind: 'refused', code: 'upstream_failed', detail: 'stopped, in words of its own' }],
  ])('buys nothing more: if the job %s later, the task is canceled', async (_how, end) => {
    const task = await submitted();
    stop = () => Promise.resolve('not_stopped');
    expect(await cancel(task)).toBe('refused');
    poll = () => end;
    expect(await task.report).toEqual({ kind: 'canceled' });
    expect(await attemptNext(task)).toEqual({ kind: 'canceled' });
    expect(submits).toBe(1);
    await ledger.finishTask(taskEnd(task.taskId, 'canceled'));
  });

  it('allows a later end of the task to stop the running job, once', async () => {
    const task = await submitted();
    stop = () => Promise.resolve('not_stopped');
    expect(await cancel(task)).toBe('refused');
    expect(await cancel(task)).toBe('refused');
    expect(stops).toEqual(['spare', 'spare']);
    await ledger.finishTask(taskEnd(task.taskId, 'failed'));
    await Promise.all([stopUpstream(task.deps, task.taskId), stopUpstream(task.deps, task.taskId)]);
    expect(stops).toEqual(['spare', 'spare', 'stop']);
    await task.abandon();
  });

  it('stops the job itself if the task ended while it waited for the provider', async () => {
    const task = await submitted();
    stop = async (running) => {
      if (running === 'stop') return 'stopped';
      await ledger.finishTask(taskEnd(task.taskId, 'failed'));
      await stopUpstream(task.deps, task.taskId);
      expect(stops).toEqual(['spare']);
      return 'not_stopped';
    };
    expect(await cancel(task)).toBe('refused');
    expect(stops).toEqual(['spare', 'stop']);
    await task.abandon();
  });
});

describe('a second cancel', () => {
  it('waits for the first, however slow the provider is, and gets the same answer', async () => {
    const task = await submitted();
    const deps = { ...task.deps, config: configWith({ CANCEL_WAIT_SECONDS: '0.5' }) };
    stop = async () => {
      await sleep(1_500);
      return 'stopped';
    };
    const hasty = { ...task, deps };
    const first = cancel(hasty);
    await eventually(() => Promise.resolve(stops.length > 0));
    const answers = await Promise.all([first, cancel(hasty), cancel(hasty)]);
    expect(answers).toMatchObject([{ status: 'canceled' }, { status: 'canceled' }, { status: 'canceled' }]);
    expect(stops).toEqual(['spare']);
    await task.abandon();
  });

  it('waits for the result of a stop that was just sent, and sends none itself', async () => {
    const task = await submitted();
    await run(db, 'update attempt set stop_sent_at = clock_timestamp() where request_id = $1', [task.taskId]);
    setTimeout(() => (poll = () => ({ kind: 'failed', detail: 'canceled' })), 200);
    expect(await cancel(task)).toMatchObject({ status: 'canceled' });
    expect(stops).toEqual([]);
    expect(await task.report).toEqual({ kind: 'canceled' });
  });

  it('is not undone by a late refusal of the first, because a refusal needs its own mark', async () => {
    const task = await submitted();
    const first = await requestCancel(db, task.taskId, 0);
    const second = await requestCancel(db, task.taskId, 0);
    if (typeof first === 'string' || typeof second === 'string') throw new Error('a request got no mark');
    await refuseCancel(db, task.taskId, first.mark);
    expect(await requestCancel(db, task.taskId, 60)).toBe('joined');
    await refuseCancel(db, task.taskId, second.mark);
    expect(await requestCancel(db, task.taskId, 60)).toEqual({ mark: expect.any(String) });
    await task.abandon();
    await ledger.finishTask(taskEnd(task.taskId, 'canceled'));
  });
});

describe('a cancel whose API server died before deciding it', () => {
  it('is decided by the sweeps, once, and only when it is older than any decision can take', async () => {
    const queued = await submitted();
    const idle = await prepared();
    await setCancelRequested(queued.taskId, 'clock_timestamp()');
    await setCancelRequested(idle.taskId, 'clock_timestamp()');
    expect(await decideAbandonedCancels(queued.deps)).toBe(0);
    const old = `clock_timestamp() - make_interval(secs => ${decisionSecondsMax(config.tasks) + 1})`;
    await setCancelRequested(queued.taskId, old);
    await setCancelRequested(idle.taskId, old);
    // The process that died sent this stop and never read its result.
    await run(db, `update attempt set stop_sent_at = ${old} where request_id = $1`, [queued.taskId]);
    const sweeps = await Promise.all(Array.from({ length: 4 }, () => decideAbandonedCancels(queued.deps)));
    expect(sweeps.reduce((sum, decided) => sum + decided, 0)).toBe(2);
    expect(stops).toEqual(['spare']);
    for (const { taskId } of [queued, idle]) {
      expect(await findTask(db, taskId)).toMatchObject({ status: 'canceled', errorCode: 'canceled' });
      expect(await entriesOf(db, taskId)).toEqual({ refund: 1 });
    }
    await queued.abandon();
  });

  it('ends the task as canceled if its next attempt begins before the sweep, because nothing was bought', async () => {
    const task = await prepared();
    await setCancelRequested(task.taskId, 'clock_timestamp()');
    expect(await attempt(task)).toEqual({ kind: 'canceled' });
    expect(submits).toBe(0);
    await ledger.finishTask(taskEnd(task.taskId, 'canceled'));
  });
});

describe('a stop that this process cannot send', () => {
  it('is sent by a process that can send it', async () => {
    const task = await submitted();
    await ledger.finishTask(taskEnd(task.taskId, 'failed'));
    const foreign = createSealer([{ id: 'm2', secret: Buffer.alloc(32, 9) }]);
    const channels = newChannels();
    await stopUpstream({ ...task.deps, channels, sealer: foreign }, task.taskId);
    expect(stops).toEqual([]);
    await stopUpstream(task.deps, task.taskId);
    await stopUpstream(task.deps, task.taskId);
    expect(stops).toEqual(['stop']);
    await task.abandon();
  });
});

describe("an operator's cancel", () => {
  it('logs the end of the task, and a second one logs nothing', async () => {
    const task = await submitted();
    const lines: string[] = [];
    const deps = { ...task.deps, logger: pino({}, { write: (line: string) => void lines.push(line) }) };
    const ends = [await forceCancel(deps, task.taskId), await forceCancel(deps, task.taskId)];
    expect(ends).toMatchObject([
      { ended: true, status: 'canceled', refunded: 1 },
      { ended: false, status: 'canceled', refunded: 0 },
    ]);
    expect(lines.filter((line) => line.includes('"task ended"'))).toHaveLength(1);
    expect(stops).toEqual(['stop']);
    await task.abandon();
  });
});

const forceCancel = (deps: CancelDeps, taskId: string) => forceCancelTask(deps, { taskId, actor: 'test' });
const secret = Buffer.alloc(32, 3);
const configWith = (own: Record<string, string> = {}) =>
  testConfig({
    DATABASE_URL: 'postgresql://127.0.0.1/none',
    KEY_PEPPERS: `p1:${secret.toString('base64')}`,
    MASTER_KEYS: `m1:${secret.toString('base64')}`,
    POLL_INTERVAL_MIN_MS: '20',
    POLL_INTERVAL_MAX_MS: '50',
    CANCEL_WAIT_SECONDS: '60',
    ...own,
  });
const config = configWith();
const logger = pino({ level: 'silent' });
const sealer = createSealer([{ id: 'm1', secret }]);
const newChannels = () =>
  createChannelCache(db, 1_000, config.breaker, {
    logger,
    probe: () => Promise.resolve(null),
  });

const adapter: Adapter = {
  submitMedia() {
    submits += 1;
    return Promise.resolve({ kind: 'ok', value: { id: submits } });
  },
  pollMedia: () => Promise.resolve(poll()),
  cancelMedia(_upstream, _providerRef, { running }) {
    stops.push(running);
    return stop(running);
  },
};

interface Prepared {
  taskId: string;
  /** Two channels. */
  channelIds: string[];
  deps: AttemptDeps & CancelDeps;
}

async function prepared(): Promise<Prepared> {
  const channelIds = [newId('chn'), newId('chn')];
  for (const id of channelIds) {
    await run(
      db,
      `insert into channel (id, name, adapter, base_url, credential, groups) values ($1, $1, 'fal', 'http://127.0.0.1', $2, '{default}')`,
      [id, sealer.seal('a-credential', credentialContext(id))],
    );
  }
  const { taskId } = await admitted(
    ledger,
    newTask(book, 1, {
      snapshot: { groups: ['default'], upstream: { fal: { model: 'm', cost_micro_usd: 1, parameters: {} } } },
    }),
  );
  const deps = {
    config,
    db,
    ledger,
    logger,
    sealer,
    workflows: { cancel: () => Promise.resolve(true) },
    channels: newChannels(),
    adapters: { fal: adapter },
    egress: createEgress({ allowCidrs: ['127.0.0.0/8'], callbackPorts: [] }),
    files: await createFileStore({ ...config.files, localDir: folder }),
    urls: createUrlSigner({ keys: [secret], baseUrl: config.http.publicBaseUrl }),
    metrics: createMetrics(),
    inputMemory: createMemoryBudget(config.inputs.bufferedMaxBytes),
  };
  return { taskId, channelIds, deps };
}

const attempt = ({ deps, taskId, channelIds }: Prepared, n = 0, canceled = new AbortController()) =>
  runAttempt(
    deps,
    { taskId, channelId: channelIds[n] ?? '' },
    { canceled: canceled.signal, shutdown: new AbortController().signal },
  );

/** Runs the attempt on the second channel, as the workflow would do next. */
const attemptNext = (task: Prepared): Promise<AttemptReport> => attempt(task, 1);

/** A task whose job is being polled. */
async function submitted(): Promise<Prepared & { report: Promise<AttemptReport>; abandon(): Promise<void> }> {
  const task = await prepared();
  const canceled = new AbortController();
  let polls = 0;
  const next = poll;
  poll = () => {
    polls += 1;
    return next();
  };
  const report = attempt(task, 0, canceled);
  await eventually(() => Promise.resolve(polls > 0), { what: 'the first poll' });
  return {
    ...task,
    report,
    async abandon() {
      canceled.abort();
      await report;
    },
  };
}

async function cancel({ deps, taskId }: Prepared): Promise<TaskView | 'refused'> {
  const task = await findTask(db, taskId);
  if (!task) throw new Error('no task');
  return cancelTask(deps, task).catch((error: unknown) => {
    expect(error).toMatchObject({ code: 'task_not_cancelable' });
    return 'refused';
  });
}

const setCancelRequested = (taskId: string, at: string) =>
  run(db, `update task set cancel_requested_at = ${at} where id = $1`, [taskId]);
