import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { ensureChannel } from '../../../packages/dev-stack/src/ensure-channel.ts';
import { testConfig } from '../../support/test-config.ts';
import type { Database } from '../../../src/db/database.ts';
import { beginAttempt, endAttempt, saveProviderRef } from '../../../src/db/tasks/attempts.ts';
import { cli } from '../../../src/main/cli.ts';
import { newId } from '../../../src/platform/crypto/ids.ts';
import { createSealer } from '../../../src/platform/crypto/seal.ts';
import { openLedger } from '../../db/books.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { createOperator } from '../../support/operator.ts';
import { compileCache, nodeBinary, projectFolder } from '../../support/program.ts';
import { type ProcessOutput, Refusal, rows } from './cli-rows.ts';

let books: TestDatabase;
let db: Database;
let home: string;
let settings: Record<string, string>;

beforeAll(async () => {
  books = await createTestDatabase();
  db = await books.open();
  home = mkdtempSync(join(tmpdir(), 'tollgate-cli-'));
  settings = {
    DATABASE_URL: books.runtimeUrl,
    KEY_PEPPERS: `p1:${randomBytes(32).toString('base64')}`,
    MASTER_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    // No server listens on this port. Only commands that need Temporal may fail.
    TEMPORAL_ADDRESS: '127.0.0.1:1',
    PUBLIC_BASE_URL: 'https://gateway.example',
    TOLLGATE_HOME: home,
  };
});

afterAll(async () => {
  await books?.drop();
  rmSync(home, { recursive: true, force: true });
});

/** Runs the program in a process of its own, with exactly this environment and the compile cache. */
const spawned = (args: string[], env: Record<string, string> = settings): Promise<ProcessOutput> =>
  execute(nodeBinary, [join(projectFolder, 'src/main/cli.ts'), ...args], env);

/** Runs a command in this process, which is faster, for tests that do not depend on the process. */
async function tollgate(args: string[], env: Record<string, string> = settings): Promise<ProcessOutput> {
  const written: string[] = [];
  const code = await cli(args, env, (text) => written.push(text));
  return { code, stdout: written.join(''), stderr: '' };
}

function execute(file: string, args: string[], env: Record<string, string>): Promise<ProcessOutput> {
  return new Promise((resolve, reject) => {
    const options = { env: { ...compileCache(), ...env }, cwd: home, timeout: 240_000, maxBuffer: 4_000_000 };
    execFile(file, args, options, (error, stdout, stderr) => {
      const code = error ? error.code : 0;
      if (typeof code !== 'number') return reject(new Error(`no exit code: ${stderr}`));
      resolve({ code, stdout, stderr });
    });
  });
}

/** Runs a command with `--json`, expects this exit code, and returns the only JSON document that it printed. */
async function json<T>(
  shape: z.ZodType<T>,
  args: string[],
  { code = 0, env = settings, run = tollgate } = {},
): Promise<T> {
  const output = await run([...args, '--json'], env);
  expect({ code: output.code, stderr: output.stderr }).toEqual({ code, stderr: '' });
  return shape.parse(JSON.parse(output.stdout));
}
const Credits = z.strictObject({
  project_id: z.string(),
  balance: z.number(),
  reserved: z.number(),
  expiring: z.array(z.strictObject({ credits: z.number(), expires_at: z.number() })).optional(),
});
const AuditEntry = z.strictObject({
  id: z.number(),
  at: z.number().int(),
  actor: z.string(),
  action: z.string(),
  subject: z.string(),
  before: z.record(z.string(), z.unknown()).nullable(),
  after: z.record(z.string(), z.unknown()).nullable(),
  detail: z.record(z.string(), z.unknown()),
});

const auditOf = async (subject: string) =>
  (await json(rows(AuditEntry), ['audit', 'list', '--subject', subject])).data.map(
    ({ action, before, after, detail }) => ({ action, before, after, detail }),
  );

describe('tollgate tasks', () => {
  it('lists tasks by project, status and unknown outcome', async () => {
    const owner = await anOwner();
    const unknown = await anAdmittedTask(owner);
    const running = await anAdmittedTask(owner);
    await theLedger().finishTask({
      ...endOf(unknown),
      status: 'failed',
      errorCode: 'upstream_outcome_unknown',
      outcomeUnknown: true,
    });
    const Row = z.looseObject({ task_id: z.string(), status: z.string(), outcome_unknown: z.boolean() });
    const ids = async (...flags: string[]) =>
      (await json(rows(Row), ['tasks', 'list', '--project', owner.projectId, ...flags])).data.map((row) => row.task_id);
    expect(await ids()).toEqual([running, unknown]);
    expect(await ids('--status', 'queued')).toEqual([running]);
    expect(await ids('--unknown')).toEqual([unknown]);
    expect(await ids('--limit', '1')).toEqual([running]);
  });

  it('shows a parked job with the time of its next poll, until its task ends', async () => {
    const owner = await anOwner();
    const taskId = await anAdmittedTask(owner);
    await anAcceptedProviderJob(taskId, await aChannel('https://upstream.example'), { request_id: 'job-3' }, null);
    const shown = async () =>
      (await json(z.object({ attempts_detail: z.array(z.looseObject({})) }), ['tasks', 'show', taskId]))
        .attempts_detail;
    expect(await shown()).toMatchObject([{ outcome: null, next_poll_at: null }]);
    expect((await tollgate(['tasks', 'show', taskId])).stdout).toMatch(/ running /);
    await db.query(
      '',
      `update attempt set project_id = $2, next_poll_at = to_timestamp(1900000000) where request_id = $1`,
      [taskId, owner.projectId],
    );
    expect(await shown()).toMatchObject([{ outcome: null, next_poll_at: 1_900_000_000 }]);
    expect((await tollgate(['tasks', 'show', taskId])).stdout).toMatch(/ parked .* 2030-03-17/);
    await theLedger().finishTask({
      ...endOf(taskId),
      status: 'canceled',
      errorCode: 'canceled',
      outcomeUnknown: false,
    });
    expect(await shown()).toMatchObject([{ outcome: 'canceled', next_poll_at: null }]);
  });

  it('shows a task as its client sees it, and every provider call for it', async () => {
    const owner = await anOwner();
    const taskId = await anAdmittedTask(owner);
    const channelId = await aChannel('https://upstream.example');
    await anAcceptedProviderJob(taskId, channelId, { app: 'fal-ai/aurora', request_id: 'job-1' }, 'unknown');
    const shown = await json(z.looseObject({ task_id: z.string() }), ['tasks', 'show', taskId]);
    expect(shown).toMatchObject({
      task_id: taskId,
      object: 'task',
      type: 'image',
      status: 'processing',
      input: { prompt: 'a fox' },
      output: null,
      error: null,
      credits: { quoted: 40, reserved: 40, charged: 0, refunded: 0 },
      attempts: 1,
    });
    expect(shown['attempts_detail']).toEqual([
      {
        n: 1,
        channel: expect.stringMatching(/^channel-/),
        outcome: 'unknown',
        error_class: 'job_lost',
        status: 404,
        detail: 'the upstream does not know the job',
        code: null,
        cost_micro_usd: 0,
        cost_unknown: false,
        operation: { app: 'fal-ai/aurora', request_id: 'job-1' },
        started_at: expect.any(Number),
        submitted_at: expect.any(Number),
        ended_at: expect.any(Number),
        took_ms: expect.any(Number),
        next_poll_at: null,
      },
    ]);
    await json(Refusal, ['tasks', 'show', 'task_nobody'], { code: 1 });
  });

  it('cancels a task with a full refund while Temporal is unreachable, and stops its job once', async () => {
    const received: string[] = [];
    const upstream = createServer((request, response) => {
      received.push(`${request.method} ${request.url}`);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"status":"CANCELLED"}');
    });
    const url = await listening(upstream);
    try {
      const owner = await anOwner();
      const taskId = await anAdmittedTask(owner);
      await anAcceptedProviderJob(taskId, await aChannel(url), { app: 'fal-ai/aurora', request_id: 'job-2' }, null);
      const Canceled = z.strictObject({
        task_id: z.literal(taskId),
        status: z.literal('canceled'),
        ended: z.boolean(),
        refunded: z.number(),
        workflow_told: z.literal(false),
      });
      const first = await json(Canceled, ['tasks', 'cancel', taskId], { run: spawned });
      expect(first).toMatchObject({ ended: true, refunded: 40 });
      expect(await json(Canceled, ['tasks', 'cancel', taskId])).toMatchObject({ ended: false, refunded: 0 });
      const account = await json(Credits, ['credits', 'show', '--project', owner.projectId]);
      expect(account).toMatchObject({ balance: 1_000, reserved: 0 });
      expect(received).toEqual(['PUT /fal-ai/aurora/requests/job-2/cancel']);
      expect((await auditOf(taskId)).map(({ action }) => action)).toEqual(['tasks.cancel']);
      await json(Refusal, ['tasks', 'cancel', 'task_nobody'], { code: 1 });
    } finally {
      await new Promise((resolve) => upstream.close(resolve));
    }
  });
});

interface Owner {
  projectId: string;
  keyId: string;
}

/** Creates a project with 1,000 credits and a key, without a process. */
const anOwner = (): Promise<Owner> => createOperator(db, settings).project();

const theLedger = () => openLedger(db);

/** Creates an image task whose 40 credits are held. */
async function anAdmittedTask({ projectId, keyId }: Owner): Promise<string> {
  const taskId = newId('task');
  const ledger = theLedger();
  await ledger.createTask({
    taskId,
    projectId,
    keyId,
    requestId: newId('req'),
    dialect: 'openai',
    type: 'image',
    modelId: 'aurora-image-1',
    input: { prompt: 'a fox' },
    snapshot: { groups: ['images'], upstream: {} },
    credits: 40,
    callbackUrl: null,
    metadata: null,
    maxCredits: null,
    deadlineSeconds: 600,
    idempotency: null,
    traceParent: null,
  });
  expect(await ledger.reserveTask(taskId, false)).toMatchObject({ admitted: true });
  return taskId;
}

const endOf = (taskId: string) => ({ taskId, retentionSeconds: 60, deliveryId: newId('dlv'), eventId: newId('evt') });

async function aChannel(baseUrl: string): Promise<string> {
  const sealer = createSealer(testConfig(settings).secrets.masterKeys);
  const name = `channel-${randomBytes(4).toString('hex')}`;
  const about = { adapter: 'fal', credential: 'secret', groups: ['images'], priority: 1, weight: 1, actor: 'test' };
  return (await ensureChannel({ db, sealer }, { name, baseUrl, ...about })).channelId;
}

/** Writes an attempt that the upstream has accepted, which runs or has an unknown outcome. */
async function anAcceptedProviderJob(
  taskId: string,
  channelId: string,
  providerRef: Record<string, string>,
  outcome: 'unknown' | null,
) {
  const attempt = {
    attemptId: newId('att'),
    taskId,
    channelId,
    fence: 'f',
    submitSeconds: 5,
    costMicroUsd: 0,
    probeSeconds: 10,
    adapter: 'fal',
  };
  const held = await beginAttempt(db, attempt);
  if (!held) throw new Error('The attempt did not begin');
  await saveProviderRef(db, held, providerRef);
  if (outcome === null) return;
  const detail = 'the upstream does not know the job';
  await endAttempt(db, held, { outcome, errorClass: 'job_lost', status: 404, detail });
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The upstream has no port');
  return `http://127.0.0.1:${address.port}`;
}
