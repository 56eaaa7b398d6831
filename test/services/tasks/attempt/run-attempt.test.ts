import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import type { Adapter, MediaRequest, Upstream } from '../../../../src/adapters/channel.ts';
import { createChannelCache } from '../../../../src/channels/channel-cache.ts';
import { credentialContext } from '../../../../src/services/channels/unseal-credential.ts';
import { readKeptResults } from '../../../../src/services/tasks/attempt/kept-results.ts';
import { setChannel } from '../../../../src/services/channels/set-channel.ts';
import { AttemptInterrupted, type AttemptDeps } from '../../../../src/services/tasks/attempt/run.ts';
import { runAttempt } from '../../../../src/services/tasks/attempt/run-attempt.ts';
import type { Config } from '../../../../src/config/load-config.ts';
import { testConfig } from '../../../support/test-config.ts';
import type { Database } from '../../../../src/db/database.ts';
import type { Ledger } from '../../../../src/db/ledger/ledger.ts';
import type { JsonObject } from '../../../../src/domain/json.ts';
import { createMemoryBudget } from '../../../../src/platform/memory-budget.ts';
import { createMetrics } from '../../../../src/platform/observe/metrics.ts';
import { createEgress } from '../../../../src/platform/egress/egress.ts';
import { createFileStore, type FileStore } from '../../../../src/platform/files/file-store.ts';
import { createSealer } from '../../../../src/platform/crypto/seal.ts';
import { createUrlSigner } from '../../../../src/platform/crypto/signed-url.ts';
import { picture } from '../../../../packages/sandbox/src/picture.ts';
import { admitted, newId, newTask, openBook, openLedger, rowsOf, run, taskEnd, type Book } from '../../../db/books.ts';
import { eventually } from '../../../support/eventually.ts';
import { attemptsOf } from '../../../support/rows.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';

let scratch: TestDatabase;
let db: Database;
let ledger: Ledger;
let book: Book;
let folder: string;
let inputs: Server;
/** The picture on the client's own server, and the number of requests for it. */
let served: Buffer;
let fetches: number;
/** The client's server answers only when it has this many requests, each with its own picture. */
let together: Buffer[];
let unanswered: ServerResponse[];
/** The requests that the provider received. */
let sent: { upstream: Upstream; request: MediaRequest }[];
/** While our own disk is slow, every read waits here until the test resumes it. */
let waiting: (() => void)[];
let isSlow: boolean;
let submits: number;
let duringSubmit: () => Promise<void>;

beforeAll(async () => {
  scratch = await createTestDatabase();
  db = await scratch.open();
  folder = mkdtempSync(join(tmpdir(), 'tollgate-attempts-'));
  ledger = openLedger(db);
  book = await openBook(db, { credits: 1_000 });
  inputs = createServer((_request, response) => {
    fetches += 1;
    unanswered.push(response);
    if (unanswered.length < together.length) return;
    unanswered.splice(0).forEach((one, index) => one.end(together[index] ?? served));
  });
  await new Promise<void>((resolve) => inputs.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  await new Promise((resolve) => inputs.close(resolve));
  await scratch.drop();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => {
  [waiting, isSlow, submits, served, fetches, together, unanswered, sent] = [[], false, 0, png, 0, [], [], []];
  duringSubmit = () => Promise.resolve();
});
afterEach(() => waiting.forEach((resume) => resume()));

describe('a submit that is delayed by reading its inputs', () => {
  it('is not sent after another worker took the attempt over, because that worker may have bought the job', async () => {
    const task = await begun();
    await run(db, `update attempt set submit_deadline = clock_timestamp() where request_id = $1`, [task.taskId]);
    isSlow = false;
    // The second worker looks the job up, and the provider has none with our idempotency key.
    expect(await runAttempt(task.deps, task, signals)).toMatchObject({ kind: 'transient' });
    await readInputsLate();
    expect(await task.report).toBeInstanceOf(AttemptInterrupted);
    expect(submits).toBe(0);
  });

  it('is not sent if the task has ended meanwhile', async () => {
    const task = await begun();
    await ledger.finishTask(taskEnd(task.taskId, 'failed'));
    await readInputsLate();
    expect(await task.report).toEqual({ kind: 'over' });
    expect(submits).toBe(0);
  });

  it('is sent otherwise, with a renewed time limit before which no other worker takes the attempt over', async () => {
    const task = await begun();
    await run(db, `update attempt set submit_deadline = clock_timestamp() where request_id = $1`, [task.taskId]);
    let secondsLeft = 0;
    duringSubmit = async () => {
      const [row] = await rowsOf<{ left: number }>(
        db,
        `select extract(epoch from submit_deadline - clock_timestamp())::float8 as left from attempt where request_id = $1`,
        [task.taskId],
      );
      secondsLeft = row?.left ?? 0;
    };
    await readInputsLate();
    expect(await task.report).toMatchObject({ kind: 'transient' });
    expect(submits).toBe(1);
    expect(secondsLeft).toBeGreaterThan(config.attempts.submitTimeoutSeconds);
    await task.deps.channels.flush();
    const history = `select sum(transient)::int as failed from channel_history where channel_id = $1 and span = 'hour'`;
    expect(await rowsOf(db, history, [task.channelId])).toEqual([{ failed: 1 }]);
  });
});

describe('an input that is missing in our file store', () => {
  it('ends the attempt as transient, because nothing was sent and the next channel may try', async () => {
    const task = await prepared('file_lost');
    expect(await runAttempt(task.deps, task, signals)).toMatchObject({ kind: 'transient' });
    expect(submits).toBe(0);
  });
});

describe("a client's URL for a provider that accepts only bytes", () => {
  it('is fetched once for its task: every attempt sends the same bytes, even if the file at the URL changes', async () => {
    const task = await prepared();
    expect(await runAttempt(task.deps, task, signals)).toMatchObject({ kind: 'transient' });
    served = otherPng;
    const onNextChannel = { ...task, channelId: await aChannel() };
    task.deps.channels.forget();
    expect(await runAttempt(task.deps, onNextChannel, signals)).toMatchObject({ kind: 'transient' });
    expect(fetches).toBe(1);
    expect(sent.map(({ request }) => request.image?.url)).toEqual([dataUri(png), dataUri(png)]);
    expect(await inputsOf(task)).toMatchObject([{ purpose: 'input', bytes: png.length, keeps: true }]);
  });

  it('gives two concurrent attempts the same picture, and the other copy is deleted', async () => {
    const task = await prepared();
    const onNextChannel = { ...task, channelId: await aChannel() };
    together = [png, otherPng];
    await Promise.all([runAttempt(task.deps, task, signals), runAttempt(task.deps, onNextChannel, signals)]);
    expect(fetches).toBe(2);
    expect(new Set(sent.map(({ request }) => request.image?.url)).size).toBe(1);
    const rows = await inputsOf(task);
    expect(rows).toHaveLength(1);
    expect(await task.deps.files.exists(rows[0]?.storageKey ?? '')).toBe(true);
  });

  it('must return a file of the expected kind; otherwise nothing is sent and nothing is stored', async () => {
    const task = await prepared({ video_url: clientUrl('a.mp4') });
    expect(await runAttempt(task.deps, task, signals)).toMatchObject({ kind: 'transient' });
    expect(await attemptsOf(db, task.taskId)).toMatchObject([{ outcome: 'transient', errorClass: 'rejected' }]);
    expect([submits, await inputsOf(task)]).toEqual([0, []]);
  });
});

describe('a worker whose memory budget is used up by the inputs of another attempt', () => {
  /** The first attempt uses the whole budget while its submit is in flight. */
  async function crowded() {
    const [first, second] = [await prepared(undefined, tight()), await prepared()];
    second.deps.inputMemory = first.deps.inputMemory;
    let answer = (): void => undefined;
    duringSubmit = () => new Promise((resolve) => (answer = resolve));
    const report = runAttempt(first.deps, first, signals);
    await eventually(() => Promise.resolve(submits === 1));
    const [canceled, shutdown] = [new AbortController(), new AbortController()];
    const run = (): Promise<unknown> =>
      runAttempt(second.deps, second, { canceled: canceled.signal, shutdown: shutdown.signal }).catch(
        (error: unknown) => error,
      );
    const finishFirst = async (): Promise<void> => {
      duringSubmit = () => Promise.resolve();
      answer();
      await report;
    };
    return { second, run, canceled, shutdown, finishFirst };
  }
  /** A budget for one picture. */
  const tight = () => ({ bufferedMaxBytes: png.length + 10 });

  it('makes an attempt wait before its row is written, then submits it with the current credential', async () => {
    const { second, run: attempt, finishFirst } = await crowded();
    const report = attempt();
    await eventually(async () => (await inputsOf(second)).some(({ bytes }) => bytes > 0));
    await sleep(300);
    expect([submits, await attemptsOf(db, second.taskId)]).toEqual([1, []]);
    await run(db, 'update channel set credential = $2 where id = $1', [
      second.channelId,
      sealer.seal('another-credential', credentialContext(second.channelId)),
    ]);
    second.deps.channels.forget();
    await finishFirst();
    expect(await report).toMatchObject({ kind: 'transient' });
    expect(submits).toBe(2);
    expect(sent.at(-1)?.upstream.credential).toBe('another-credential');
  });

  it.each([
    ['the task is canceled', 'canceled', { kind: 'skipped' }],
    ['the process shuts down', 'shutdown', expect.any(AttemptInterrupted)],
  ] as const)('ends a waiting attempt without a row when %s', async (_what, signal, expected) => {
    const { second, run: attempt, finishFirst, ...controllers } = await crowded();
    const report = attempt();
    await eventually(async () => (await inputsOf(second)).some(({ bytes }) => bytes > 0));
    controllers[signal].abort();
    expect(await report).toEqual(expected);
    expect(await attemptsOf(db, second.taskId)).toEqual([]);
    await finishFirst();
    expect(submits).toBe(1);
  });

  it("ends the wait at the task's deadline", async () => {
    const { second, run: attempt, canceled, finishFirst } = await crowded();
    // The picture is fetched before, because the deadline would end a fetch too.
    const report = attempt();
    await eventually(async () => (await inputsOf(second)).some(({ bytes }) => bytes > 0));
    canceled.abort();
    await report;
    await run(db, `update task set deadline_at = clock_timestamp() + interval '700 ms' where id = $1`, [second.taskId]);
    expect(await runAttempt(second.deps, second, signals)).toEqual({ kind: 'deadline' });
    expect(await attemptsOf(db, second.taskId)).toEqual([]);
    await finishFirst();
  });

  it('does not send inputs that are larger than the whole budget', async () => {
    const url = clientUrl('a.png');
    const large = await prepared({ image: url, reference_images: Array.from({ length: 8 }, () => url) }, tight());
    expect(await runAttempt(large.deps, large, signals)).toMatchObject({ kind: 'transient' });
    expect([submits, fetches]).toEqual([0, 1]);
  });

  it('gets the memory back even if an attempt throws', async () => {
    const task = await prepared(undefined, tight());
    duringSubmit = () => Promise.reject(new Error('an internal error'));
    await runAttempt(task.deps, task, signals).catch(() => undefined);
    const released = await task.deps.inputMemory.take(png.length, { owner: 'x', signal: AbortSignal.timeout(1_000) });
    expect(released).not.toBeNull();
  });
});

describe('an accepted job whose attempt another worker has taken over', () => {
  it('is saved, and the attempt gets no outcome while its task is running', async () => {
    accepts = true;
    const task = await prepared();
    duringSubmit = () => run(db, `update attempt set fence = 'another' where request_id = $1`, [task.taskId]);
    const report = await runAttempt(task.deps, task, signals).catch((error: unknown) => error);
    accepts = false;
    expect(report).toBeInstanceOf(AttemptInterrupted);
    expect(await rowsOf(db, 'select operation, outcome from attempt where request_id = $1', [task.taskId])).toEqual([
      { operation: { id: 'one' }, outcome: null },
    ]);
  });
});

describe('a job with more results than a task may have', () => {
  it('is refused, and its addresses are kept for an operator', async () => {
    const task = await prepared({});
    const outputs = Array.from({ length: 17 }, (_, index) => ({ url: `https://results.example/${index}.png` }));
    const submitMedia = () => Promise.resolve({ kind: 'done', outputs } as const);
    const deps = { ...task.deps, adapters: { fal: { ...adapter, submitMedia } } };
    expect(await runAttempt(deps, task, signals)).toEqual({ kind: 'refused', code: 'upstream_invalid_response' });
    const kept = await readKeptResults(deps, task.taskId);
    expect(kept.map(({ url }) => url)).toEqual(outputs.slice(0, 16).map(({ url }) => url));
  });
});

describe('the credentials of a channel', () => {
  it.each([
    ['without inputs', {}, {}],
    ['with inputs', undefined, {}],
    ['without inputs, at a limited channel', {}, { parallel: 9 }],
    ['with inputs, at a limited channel', undefined, { parallel: 9 }],
  ])('are sent in turn for tasks %s', async (_which, input, limits) => {
    const [first, ...others] = await Promise.all(Array.from({ length: 4 }, () => prepared(input)));
    if (!first) throw new Error('there is no task');
    const { channelId: channel, deps } = first;
    await setChannel(deps, { channel, changes: limits, credentialAdd: 'b-credential', actor: 'test' });
    for (const { taskId } of [first, ...others]) await runAttempt(deps, { taskId, channelId: channel }, signals);
    const used = sent.map(({ upstream }) => upstream.credential);
    expect(used.toSorted()).toEqual(['a-credential', 'a-credential', 'b-credential', 'b-credential']);
  });
});

describe('a channel that is deleted, or whose credential cannot be decrypted', () => {
  it('is skipped by a task without an attempt on it, but not by a task whose job it may have', async () => {
    const task = await prepared();
    const withoutFamily = { ...task.deps, adapters: {} };
    expect(await runAttempt(withoutFamily, task, signals)).toEqual({ kind: 'skipped' });
    const otherKeys = { ...task.deps, sealer: createSealer([{ id: 'm2', secret }]) };
    expect(await runAttempt(otherKeys, task, signals)).toEqual({ kind: 'skipped' });

    accepts = true;
    duringSubmit = () => run(db, `update attempt set fence = 'another' where request_id = $1`, [task.taskId]);
    await runAttempt(task.deps, task, signals).catch(() => undefined);
    accepts = false;
    await run(db, 'delete from channel where id = $1', [task.channelId]);
    task.deps.channels.forget();
    await expect(runAttempt(task.deps, task, signals)).rejects.toBeInstanceOf(AttemptInterrupted);
    expect(submits).toBe(1);
  });
});

describe('an attempt that has ended', () => {
  it.each([
    ['ok', null],
    ['unknown', 'upstream_outcome_unknown'],
    ['refused', 'content_policy_violation'],
    ['transient', 'upstream_failed'],
  ])('as %s is reported as such in a later run, even if its channel cannot be used any more', async (outcome, code) => {
    const task = await prepared();
    await runAttempt(task.deps, task, signals);
    await run(db, 'update attempt set outcome = $2, code = $3 where request_id = $1', [task.taskId, outcome, code]);
    const recorded = { kind: outcome, code };
    const otherKeys = { ...task.deps, sealer: createSealer([{ id: 'm2', secret }]) };
    expect(await runAttempt(otherKeys, task, signals)).toEqual(recorded);
    expect(await runAttempt({ ...task.deps, adapters: {} }, task, signals)).toEqual(recorded);
    await run(db, 'delete from channel where id = $1', [task.channelId]);
    task.deps.channels.forget();
    expect(await runAttempt(task.deps, task, signals)).toEqual(recorded);
    expect(submits).toBe(1);
  });
});

const secret = Buffer.alloc(32, 3);
const config = testConfig({
  DATABASE_URL: 'postgresql://127.0.0.1/none',
  KEY_PEPPERS: `p1:${secret.toString('base64')}`,
  MASTER_KEYS: `m1:${secret.toString('base64')}`,
});
const png = await picture({ width: 64, height: 48, seed: 1 });
const otherPng = await picture({ width: 64, height: 48, seed: 2 });
const dataUri = (bytes: Buffer): string => `data:image/png;base64,${bytes.toString('base64')}`;
const sealer = createSealer([{ id: 'm1', secret }]);
const logger = pino({ level: 'silent' });
const signals = { canceled: new AbortController().signal, shutdown: new AbortController().signal };
let accepts = false;

/** A provider that accepts only bytes and supports a lookup by our idempotency key. */
const adapter: Adapter = {
  inputsAsBytes: true,
  async submitMedia(upstream, request) {
    submits += 1;
    sent.push({ upstream, request });
    await duringSubmit();
    if (accepts) return { kind: 'ok', value: { id: 'one' } };
    return { kind: 'transient', errorClass: 'provider_error', detail: 'busy', status: 503 };
  },
  findMedia: () => Promise.resolve({ kind: 'ok', value: null }),
  pollMedia: () => Promise.resolve({ kind: 'pending' }),
};

async function prepared(
  imageOrInput?: string | JsonObject,
  inputs: Partial<Config['inputs']> = {},
): Promise<{ taskId: string; channelId: string; deps: AttemptDeps }> {
  const channelId = await aChannel();
  const input = typeof imageOrInput === 'object' ? imageOrInput : { image: imageOrInput ?? clientUrl('a.png') };
  const { taskId } = await admitted(
    ledger,
    newTask(book, 1, {
      input: { prompt: 'a red fox', ...input },
      snapshot: { groups: ['default'], upstream: { fal: { model: 'm', cost_micro_usd: 1, parameters: {} } } },
    }),
  );
  const files = await createFileStore({ ...config.files, localDir: folder });
  const slowOpen: FileStore['open'] = async (key, range) => {
    if (isSlow) await new Promise<void>((resolve) => waiting.push(resolve));
    return files.open(key, range);
  };
  const deps: AttemptDeps = {
    config,
    db,
    ledger,
    logger,
    sealer,
    channels: createChannelCache(db, 1_000, config.breaker, {
      logger,
      probe: () => Promise.resolve(null),
    }),
    adapters: { fal: adapter },
    egress: createEgress({ allowCidrs: ['127.0.0.0/8'], callbackPorts: [] }),
    files: { ...files, open: slowOpen },
    metrics: createMetrics(),
    inputMemory: createMemoryBudget(inputs.bufferedMaxBytes ?? config.inputs.bufferedMaxBytes),
    urls: createUrlSigner({ keys: [secret], baseUrl: config.http.publicBaseUrl }),
  };
  return { taskId, channelId, deps };
}

async function aChannel(): Promise<string> {
  const channelId = newId('chn');
  await run(
    db,
    `insert into channel (id, name, adapter, base_url, credential, groups) values ($1, $1, 'fal', 'http://127.0.0.1', $2, '{default}')`,
    [channelId, sealer.seal('a-credential', credentialContext(channelId))],
  );
  return channelId;
}

const inputsOf = ({ taskId }: { taskId: string }) =>
  rowsOf<{ purpose: string; bytes: number; keeps: boolean; storageKey: string }>(
    db,
    `select purpose, bytes::float8 as bytes, storage_key, expires_at > clock_timestamp() + interval '6 days' as keeps
     from file where task_id = $1`,
    [taskId],
  );

const clientUrl = (path: string): string => `http://127.0.0.1:${(inputs.address() as AddressInfo).port}/${path}`;

/** A task whose attempt row is written and whose worker waits for the slow disk. */
async function begun(): Promise<Awaited<ReturnType<typeof prepared>> & { report: Promise<unknown> }> {
  isSlow = true;
  const task = await prepared();
  const report = runAttempt(task.deps, task, signals).catch((error: unknown) => error);
  await eventually(() => Promise.resolve(waiting.length === 1));
  return { ...task, report };
}

/** Finishes the reads so late that the submit must renew its time limit. */
async function readInputsLate(): Promise<void> {
  await sleep(1_100);
  isSlow = false;
  waiting.forEach((resume) => resume());
}
