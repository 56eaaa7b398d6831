import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import type { Adapter } from '../../../src/adapters/channel.ts';
import { createChannelCache } from '../../../src/channels/channel-cache.ts';
import { credentialContext } from '../../../src/services/channels/unseal-credential.ts';
import type { AttemptDeps } from '../../../src/services/tasks/attempt/run.ts';
import { runAttempt } from '../../../src/services/tasks/attempt/run-attempt.ts';
import { testConfig } from '../../support/test-config.ts';
import type { Database } from '../../../src/db/database.ts';
import type { Ledger } from '../../../src/db/ledger/ledger.ts';
import type { AttemptReport } from '../../../src/domain/tasks/workflow-contract.ts';
import { createMemoryBudget } from '../../../src/platform/memory-budget.ts';
import { createMetrics } from '../../../src/platform/observe/metrics.ts';
import { createEgress } from '../../../src/platform/egress/egress.ts';
import { createFileStore } from '../../../src/platform/files/file-store.ts';
import { createSealer } from '../../../src/platform/crypto/seal.ts';
import { createUrlSigner } from '../../../src/platform/crypto/signed-url.ts';
import { picture } from '../../../packages/sandbox/src/picture.ts';
import { admitted, breachesIn, newId, newTask, openBook, openLedger, run, type Book } from '../../db/books.ts';
import { startCuttingProxy, type CuttingProxy } from '../../db/cutting-proxy.ts';
import { eventually } from '../../support/eventually.ts';
import { attemptsOf } from '../../support/rows.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

let scratch: TestDatabase;
/** The test's own connection, which does not go through the proxy. */
let db: Database;
let ledger: Ledger;
let book: Book;
let proxy: CuttingProxy;
/** What the worker uses: every connection goes through the proxy. */
let lossy: Database;
let lossyLedger: Ledger;
let folder: string;

beforeAll(async () => {
  scratch = await createTestDatabase();
  db = await scratch.open();
  ledger = openLedger(db);
  book = await openBook(db, { credits: 1_000 });
  const url = new URL(scratch.url);
  proxy = await startCuttingProxy(Number(url.port));
  url.port = String(proxy.port);
  lossy = await scratch.open({ via: url.href });
  lossyLedger = openLedger(lossy);
  folder = mkdtempSync(join(tmpdir(), 'tollgate-outage-'));
});
afterAll(async () => {
  expect(await breachesIn(db)).toEqual([]);
  await scratch.drop();
  await proxy.close();
  rmSync(folder, { recursive: true, force: true });
});

const png = await picture({ width: 64, height: 48, seed: 1 });
const outputs = [{ url: `data:image/png;base64,${png.toString('base64')}` }];
const failed = { kind: 'transient', errorClass: 'provider_error', detail: 'busy', status: 503 } as const;
const refused = {
  kind: 'refused',
  code: 'content_policy_violation',
  errorClass: 'content_policy',
  detail: 'no',
  status: 400,
} as const;
const accepts: Adapter['submitMedia'] = () => Promise.resolve({ kind: 'ok', value: { id: 'one' } });
const answers: Adapter['submitMedia'] = () => Promise.resolve({ kind: 'done', outputs });
const done: Adapter['pollMedia'] = () => Promise.resolve({ kind: 'done', outputs });

interface Write {
  what: string;
  /** The name of its statement. */
  statement: string;
  provider: Adapter;
  report: Partial<AttemptReport>;
}

/** Every statement by which a worker writes what a provider gave, and the one that says that a submit follows. */
const writes: Write[] = [
  {
    what: 'the row of an attempt, from which its submit follows',
    statement: 'start_attempt',
    provider: { submitMedia: answers },
    report: { kind: 'ok' },
  },
  {
    what: 'the reference of an accepted job',
    statement: 'save-operation',
    provider: { submitMedia: accepts, pollMedia: done },
    report: { kind: 'ok' },
  },
  {
    what: 'the reference of a job that was found by our idempotency key',
    statement: 'save-operation',
    provider: {
      submitMedia: () => Promise.resolve({ kind: 'unknown', errorClass: 'interrupted', detail: 'reset' }),
      findMedia: () => Promise.resolve({ kind: 'ok', value: { id: 'found' } }),
      pollMedia: done,
    },
    report: { kind: 'ok' },
  },
  {
    what: 'that the submit was answered with the result',
    statement: 'save-operation',
    provider: { submitMedia: answers },
    report: { kind: 'ok' },
  },
  {
    what: 'the files of a synchronous result',
    statement: 'save-result',
    provider: { submitMedia: answers },
    report: { kind: 'ok' },
  },
  {
    what: 'the end of an attempt with a synchronous result',
    statement: 'finish-attempts',
    provider: { submitMedia: answers },
    report: { kind: 'ok' },
  },
  {
    what: 'the end of an attempt whose job was polled',
    statement: 'finish-attempts',
    provider: { submitMedia: accepts, pollMedia: done },
    report: { kind: 'ok' },
  },
  {
    what: 'a refused submit',
    statement: 'end-attempt',
    provider: { submitMedia: () => Promise.resolve(refused) },
    report: { kind: 'refused', code: 'content_policy_violation' },
  },
  {
    what: 'a failed submit, after which the next channel is tried',
    statement: 'end-attempt',
    provider: { submitMedia: () => Promise.resolve(failed) },
    report: { kind: 'transient' },
  },
  {
    what: 'a job that failed',
    statement: 'end-attempt',
    provider: { submitMedia: accepts, pollMedia: () => Promise.resolve({ kind: 'failed', detail: 'no' }) },
    report: { kind: 'transient' },
  },
  {
    what: 'a result that cannot be used',
    statement: 'end-attempt',
    provider: { submitMedia: () => Promise.resolve({ kind: 'done', outputs: [{ url: 'data:,none' }] }) },
    report: { kind: 'refused' },
  },
  {
    what: 'that a job is parked',
    statement: 'park-job',
    provider: { submitMedia: accepts, pollMedia: () => Promise.resolve({ kind: 'pending' }) },
    report: { kind: 'parked' },
  },
];

describe('while PostgreSQL is away, a worker repeats until it is written', () => {
  describe.each(writes)('$what', ({ statement, provider, report }) => {
    it.each(['cutOffBefore', 'cutOffAfter'] as const)('%s the statement', async (cut) => {
      const task = await prepared(provider);
      const before = proxy.refusals();
      const resume = proxy[cut](statement);
      const reported = runAttempt(task.deps, task, signals).catch((error: unknown) => error);
      const isLong = () => Promise.resolve(proxy.refusals() >= before + outageRefusals);
      await Promise.race([eventually(isLong), reported]).finally(resume);
      expect(await reported).toMatchObject(report);
      expect(task.submits()).toBe(1);
      const expected = report.kind === 'parked' ? null : report.kind;
      expect(await attemptsOf(db, task.taskId)).toMatchObject([{ outcome: expected }]);
    });
  });
});

describe('after a failover to a standby that lacks the attempt, a worker reports its outcome as unknown and does not submit again', () => {
  const lost = { kind: 'unknown', code: 'upstream_outcome_unknown' } as const;
  const ofSubmits = writes.filter(({ statement }) => statement !== 'start_attempt');
  const ofPolls = writes.filter(({ provider }) => 'pollMedia' in provider);

  it.each(ofSubmits)('lost at the answer to the submit: $what', async ({ provider }) => {
    const task = await prepared(provider);
    const losing = losingAfter('submitMedia', task);
    expect(await runAttempt(losing, task, signals)).toEqual(lost);
    expect(task.submits()).toBe(1);
    expect(await attemptsOf(db, task.taskId)).toEqual([]);
  });

  it.each(ofPolls)('lost at the answer to a poll: $what', async ({ provider }) => {
    const task = await prepared(provider);
    expect(await runAttempt(losingAfter('pollMedia', task), task, signals)).toEqual(lost);
    expect(task.submits()).toBe(1);
  });

  it('lost before its result and its end are written together', async () => {
    const task = await prepared({ submitMedia: answers });
    const { ledger: whole } = task.deps;
    const finishAttempt: Ledger['finishAttempt'] = async (end) => {
      await lose(task.taskId);
      return whole.finishAttempt(end);
    };
    const losing = { ...task.deps, ledger: Object.assign(Object.create(whole) as Ledger, { finishAttempt }) };
    expect(await runAttempt(losing, task, signals)).toEqual(lost);
    expect(task.submits()).toBe(1);
  });

  it('lost between two runs, of which the later one knows that the earlier one began', async () => {
    const task = await prepared({ submitMedia: accepts, pollMedia: () => Promise.resolve({ kind: 'pending' }) });
    let attemptId = '';
    const noteBegun = (id: string): void => void (attemptId = id);
    expect(await runAttempt(task.deps, task, { ...signals, noteBegun })).toEqual({ kind: 'parked', attemptId });
    expect(await runAttempt(task.deps, { ...task, attemptId }, signals)).toEqual({ kind: 'parked', attemptId });
    await lose(task.taskId);
    expect(await runAttempt(task.deps, { ...task, attemptId }, signals)).toEqual(lost);
    expect(task.submits()).toBe(1);
  });
});

const lose = (taskId: string) => run(db, 'delete from attempt where request_id = $1', [taskId]);

/** The worker's dependencies, with a database that loses the attempt as soon as the provider has answered this call. */
function losingAfter(
  call: 'submitMedia' | 'pollMedia',
  { deps, taskId }: { deps: AttemptDeps; taskId: string },
): AttemptDeps {
  const provider: Adapter = deps.adapters.fal ?? {};
  const losing = async <T>(answer: Promise<T> | undefined): Promise<T> => {
    if (answer === undefined) throw new Error(`no ${call}`);
    const received = await answer;
    await lose(taskId);
    return received;
  };
  const changed: Adapter =
    call === 'submitMedia'
      ? { submitMedia: (...args) => losing(provider.submitMedia?.(...args)) }
      : { pollMedia: (...args) => losing(provider.pollMedia?.(...args)) };
  return { ...deps, adapters: { fal: { ...provider, ...changed } } };
}

/** More than one call and its repetition in a group make by themselves. */
const outageRefusals = 2;

const secret = Buffer.alloc(32, 3);
const usual = testConfig({
  DATABASE_URL: 'postgresql://127.0.0.1/none',
  KEY_PEPPERS: `p1:${secret.toString('base64')}`,
  MASTER_KEYS: `m1:${secret.toString('base64')}`,
  POLL_INTERVAL_MIN_MS: '10',
  POLL_INLINE_SECONDS: '0',
});
const sealer = createSealer([{ id: 'm1', secret }]);
const logger = pino({ level: 'silent' });
const signals = { canceled: new AbortController().signal, shutdown: new AbortController().signal };

/** A task on a channel of this provider, and the worker that runs it. */
async function prepared(provider: Adapter) {
  const channelId = newId('chn');
  await run(
    db,
    `insert into channel (id, name, adapter, base_url, credential, groups) values ($1, $1, 'fal', 'http://127.0.0.1', $2, '{default}')`,
    [channelId, sealer.seal('a-credential', credentialContext(channelId))],
  );
  const { taskId } = await admitted(
    ledger,
    newTask(book, 1, {
      snapshot: { groups: ['default'], upstream: { fal: { model: 'm', cost_micro_usd: 1, parameters: {} } } },
    }),
  );
  let submits = 0;
  const counting: Adapter = {
    ...provider,
    async submitMedia(...call) {
      submits += 1;
      if (!provider.submitMedia) throw new Error('no submit');
      return provider.submitMedia(...call);
    },
  };
  const channels = createChannelCache(db, 1_000, usual.breaker, { logger, probe: () => Promise.resolve(null) });
  const deps: AttemptDeps = {
    config: usual,
    db: lossy,
    ledger: lossyLedger,
    logger,
    sealer,
    channels,
    adapters: { fal: counting },
    egress: createEgress({ allowCidrs: ['127.0.0.0/8'], callbackPorts: [] }),
    files: await createFileStore({ ...usual.files, localDir: folder }),
    metrics: createMetrics(),
    inputMemory: createMemoryBudget(usual.inputs.bufferedMaxBytes),
    urls: createUrlSigner({ keys: [secret], baseUrl: usual.http.publicBaseUrl }),
  };
  return { taskId, channelId, deps, submits: () => submits, parkable: true, reportsEnd: true } as const;
}
