import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import type { Adapter } from '../../src/channels/channel.ts';
import { createChannelCache } from '../../src/commands/channel-cache.ts';
import { credentialContext } from '../../src/commands/ensure-channel.ts';
import { AttemptInterrupted, runAttempt, type AttemptDeps } from '../../src/commands/run-attempt.ts';
import { loadConfig } from '../../src/config.ts';
import type { Database } from '../../src/db/database.ts';
import type { Ledger } from '../../src/db/ledger.ts';
import { createEgress } from '../../src/platform/egress.ts';
import { createFileStore } from '../../src/platform/file-store.ts';
import { createSealer } from '../../src/platform/seal.ts';
import { createUrlSigner } from '../../src/platform/signed-url.ts';
import { picture } from '../../src/sandbox/picture.ts';
import { admitted, newId, newTask, openBook, openLedger, rowsOf, run, taskEnd, type Book } from '../db/books.ts';
import { eventually } from '../support/eventually.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let scratch: TestDatabase;
let db: Database;
let ledger: Ledger;
let book: Book;
let folder: string;
let inputs: Server;
/** Answers of the client's own server that are kept back. */
let held: ServerResponse[];
let isHolding: boolean;
let submits: number;
let duringSubmit: () => Promise<void>;

beforeAll(async () => {
  scratch = await createTestDatabase();
  db = await scratch.open();
  folder = mkdtempSync(join(tmpdir(), 'tollgate-attempts-'));
  ledger = openLedger(db);
  book = await openBook(db, { credits: 1_000 });
  inputs = createServer((_request, response) => {
    if (isHolding) held.push(response);
    else response.end(png);
  });
  await new Promise<void>((resolve) => inputs.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  await new Promise((resolve) => inputs.close(resolve));
  await scratch.drop();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => {
  [held, isHolding, submits] = [[], true, 0];
  duringSubmit = () => Promise.resolve();
});
afterEach(() => held.forEach((response) => response.destroy()));

describe('a submit that begins late, for its inputs took long', () => {
  it('is not sent by a worker that was overtaken meanwhile: the other one may have bought elsewhere by then', async () => {
    const task = await begun();
    await run(db, `update attempt set submit_deadline = clock_timestamp() where request_id = $1`, [task.taskId]);
    isHolding = false;
    // The provider surely knows no job under our key.
    expect(await runAttempt(task.deps, task, signals)).toMatchObject({ kind: 'transient' });
    await answerInputsLate();
    expect(await task.report).toBeInstanceOf(AttemptInterrupted);
    expect(submits).toBe(0);
  });

  it('is not sent for a task that has ended meanwhile', async () => {
    const task = await begun();
    await ledger.finishTask(taskEnd(task.taskId, 'failed'));
    await answerInputsLate();
    expect(await task.report).toEqual({ kind: 'over' });
    expect(submits).toBe(0);
  });

  it('is sent otherwise, and nobody takes it over before its own time is up', async () => {
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
    await answerInputsLate();
    expect(await task.report).toMatchObject({ kind: 'transient' });
    expect(submits).toBe(1);
    expect(secondsLeft).toBeGreaterThan(config.SUBMIT_TIMEOUT_SECONDS);
  });
});

describe('an input whose bytes are lost on our side', () => {
  it('is no unknown outcome: nothing was sent, and the next channel may try', async () => {
    const task = await prepared('file_lost');
    expect(await runAttempt(task.deps, task, signals)).toMatchObject({ kind: 'transient' });
    expect(submits).toBe(0);
  });
});

describe('an accepted job whose attempt another worker has taken over meanwhile', () => {
  it('is saved, and ends nothing while its task lives', async () => {
    isHolding = false;
    accepts = true;
    const task = await prepared();
    duringSubmit = () => run(db, `update attempt set fence = 'another' where request_id = $1`, [task.taskId]);
    const report = await runAttempt(task.deps, task, signals).catch((error: unknown) => error);
    accepts = false;
    expect(report).toBeInstanceOf(AttemptInterrupted);
    expect(await rowsOf(db, 'select operation, outcome from attempt where request_id = $1', [task.taskId])).toEqual([
      { operation: { job: 'one' }, outcome: null },
    ]);
  });
});

describe('a channel that is gone, or whose credential cannot be opened', () => {
  it('is passed over by a task that has not begun there, and never by one whose job it may have', async () => {
    isHolding = false;
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

const secret = Buffer.alloc(32, 3);
const config = loadConfig({
  DATABASE_URL: 'postgresql://127.0.0.1/none',
  KEY_PEPPERS: `p1:${secret.toString('base64')}`,
  MASTER_KEYS: `m1:${secret.toString('base64')}`,
});
const png = await picture({ width: 64, height: 48, seed: 1 });
const logger = pino({ level: 'silent' });
const signals = { canceled: new AbortController().signal, shutdown: new AbortController().signal };
let accepts = false;

/** A provider that takes bytes only and can be asked for a job by our key. */
const adapter: Adapter = {
  inputsAsBytes: true,
  async submitMedia() {
    submits += 1;
    await duringSubmit();
    if (accepts) return { kind: 'ok', value: { job: 'one' } };
    return { kind: 'transient', errorClass: 'provider_error', detail: 'busy', status: 503 };
  },
  findMedia: () => Promise.resolve({ kind: 'ok', value: null }),
  pollMedia: () => Promise.resolve({ kind: 'pending' }),
};

async function prepared(given?: string): Promise<{ taskId: string; channelId: string; deps: AttemptDeps }> {
  const sealer = createSealer([{ id: 'm1', secret }]);
  const channelId = newId('chn');
  await run(
    db,
    `insert into channel (id, name, adapter, base_url, credential, groups) values ($1, $1, 'fal', 'http://127.0.0.1', $2, '{default}')`,
    [channelId, sealer.seal('a-credential', credentialContext(channelId))],
  );
  const image = given ?? `http://127.0.0.1:${(inputs.address() as AddressInfo).port}/a.png`;
  const { taskId } = await admitted(
    ledger,
    newTask(book, 1, {
      input: { prompt: 'a red fox', image },
      snapshot: { groups: ['default'], upstream: { fal: { model: 'm', cost_micro_usd: 1, parameters: {} } } },
    }),
  );
  const deps: AttemptDeps = {
    config,
    db,
    logger,
    sealer,
    channels: createChannelCache(db, 1_000, config, { logger, metrics: { alarm: () => undefined } }),
    adapters: { fal: adapter },
    egress: createEgress({ allowCidrs: ['127.0.0.0/8'], callbackPorts: [] }),
    files: await createFileStore({ ...config, FILES_LOCAL_DIR: folder }),
    urls: createUrlSigner({ keys: [secret], baseUrl: config.PUBLIC_BASE_URL }),
  };
  return { taskId, channelId, deps };
}

/** One worker has the row and waits for the client's picture. */
async function begun(): Promise<Awaited<ReturnType<typeof prepared>> & { report: Promise<unknown> }> {
  const task = await prepared();
  const report = runAttempt(task.deps, task, signals).catch((error: unknown) => error);
  await eventually(() => Promise.resolve(held.length === 1));
  return { ...task, report };
}

/** Later than what counts as at once. */
async function answerInputsLate(): Promise<void> {
  await sleep(1_100);
  held.forEach((response) => response.end(png));
}
