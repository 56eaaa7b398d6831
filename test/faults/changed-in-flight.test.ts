import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { z } from 'zod';
import { applyCatalog } from '../../src/services/catalog/apply-catalog.ts';
import { loadCatalog, readCatalogFiles } from '../../src/services/catalog/load-catalog.ts';
import { revokeKey } from '../../src/services/projects/revoke-key.ts';
import { setKey } from '../../src/services/projects/set-key.ts';
import { setProjectEnabled } from '../../src/services/projects/set-project-enabled.ts';
import { startReceiver, quickCallbacks, verified, type Receiver } from '../services/callbacks/receiver.ts';
import { mediaRoutes, type Answer } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { testConfig } from '../support/test-config.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { projectFolder } from '../support/program.ts';
import { accountOf, countRows, entriesOf } from '../support/rows.ts';
import { endsOf } from './crowd.ts';

let gateway: Gateway;
let receiver: Receiver;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-changed-'));
  receiver = await startReceiver();
  gateway = await startGateway({ env: quickCallbacks });
});
afterAll(async () => {
  await gateway?.stop();
  await receiver?.close();
  rmSync(folder, { recursive: true, force: true });
});
afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

describe('a running task', () => {
  it('is charged the quoted price even if its key, project, model or price changes', async () => {
    const actor = 'test';
    const deps = { db: gateway.database };
    const config = testConfig(gateway.env);
    const begun = async (model: string): Promise<TestProject & { taskId: string; model: string }> => {
      const project = await gateway.project({ credits: 100, budget: 50 });
      return {
        ...project,
        model,
        taskId: await gateway.accept(project.apiKey, mediaRoutes.image, imageRequest(model, 20_000)),
      };
    };
    const [lowered, revoked, disabled, dearer, removed] = await Promise.all([
      begun('aurora-image-1'),
      begun('aurora-image-1'),
      begun('aurora-image-1'),
      begun('flux-1.1-pro'),
      begun('ideogram-v3'),
    ]);
    const all = [lowered, revoked, disabled, dearer, removed];
    const statuses = () => Promise.all(all.map(async ({ taskId }) => (await taskRow(taskId)).status));
    await eventually(async () => (await statuses()).every((status) => status === 'processing'));
    const quoted = await Promise.all(all.map(async ({ taskId }) => (await taskRow(taskId)).creditsQuoted));

    await setKey(deps, { keyId: lowered.keyId, changes: { budget: 1 }, actor });
    await revokeKey(deps, { keyId: revoked.keyId, actor });
    await setProjectEnabled(deps, { projectId: disabled.projectId, enabled: false, actor });
    expect(
      await applyCatalog({ ...deps, config }, { texts: await readCatalogFiles(await changedCatalog()), actor }),
    ).toMatchObject({
      changed: expect.arrayContaining(['flux-1.1-pro']),
      removed: ['ideogram-v3'],
    });
    expect(await statuses()).toEqual(all.map(() => 'processing'));

    // New requests get the change, after the caches of catalog and keys have expired.
    const isNow = (project: typeof lowered, verdict: (answer: Answer) => boolean) =>
      eventually(
        async () => verdict(await gateway.create(project.apiKey, mediaRoutes.image, imageRequest(project.model))),
        {
          what: `the change for ${project.model}`,
        },
      );
    await isNow(lowered, ({ body }) => codeOf(body) === 'key_budget_exceeded');
    await isNow(revoked, ({ body }) => codeOf(body) === 'invalid_api_key');
    await isNow(disabled, ({ body }) => codeOf(body) === 'invalid_api_key');
    await isNow(removed, ({ body }) => codeOf(body) === 'model_not_found');

    for (const [index, { taskId, projectId }] of all.entries()) {
      // These include tasks that were accepted before the caches expired.
      const ends = await endsOf(gateway, projectId);
      const ended = await taskRow(taskId);
      expect(ended).toMatchObject({ status: 'succeeded', creditsCharged: quoted[index] });
      expect(await entriesOf(gateway.database, taskId)).toEqual({ settle: 1 });
      expect(await accountOf(gateway.database, projectId)).toEqual({
        balance: ends.reduce((balance, { creditsCharged: charged }) => balance - charged, 100),
        reserved: 0,
      });
    }
    expect(await gateway.poll(dearer.apiKey, dearer.taskId)).toMatchObject({ credits: { quoted: 6, charged: 6 } });
    await eventually(async () => {
      const { taskId } = await gateway.create(dearer.apiKey, mediaRoutes.image, imageRequest('flux-1.1-pro'));
      return (await taskRow(taskId)).creditsQuoted === 9;
    });
    await eventually(async () => (await accountOf(gateway.database, dearer.projectId)).reserved === 0);
    expect(await gateway.poll(removed.apiKey, removed.taskId)).toMatchObject({
      model: 'ideogram-v3',
      status: 'succeeded',
    });
  });
});

describe('a read-only database', () => {
  it('causes 503 and an alarm for creates, holds no credits, still serves reads, and recovers', async () => {
    const { apiKey, projectId } = await gateway.project({ credits: 100 });
    const before = await gateway.accept(apiKey, mediaRoutes.image, { model: 'aurora-image-1', prompt: 'a fox' });
    await gateway.poll(apiKey, before);
    const rows = await countRows(gateway.database);
    await setReadOnly(true);
    try {
      const refused = await eventually(async () => {
        const answer = await gateway.create(apiKey, mediaRoutes.image, { model: 'aurora-image-1', prompt: 'a fox' });
        const log = readFileSync(join(gateway.logFolder, 'api-1.log'), 'utf8');
        // The first requests fail because their connections were terminated.
        return /"code":"service_unavailable".*"alarm":true/.test(log) && answer;
      });
      expect(codeOf(refused.body)).toBe('service_unavailable');
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
      expect(await gateway.get(apiKey, `/api/v1/tasks/${before}`)).toMatchObject({
        status: 200,
        body: { status: 'succeeded' },
      });
    } finally {
      await setReadOnly(false);
    }
    expect(await countRows(gateway.database)).toEqual(rows);
    const after = await eventually(async () => {
      const answer = await gateway.create(apiKey, mediaRoutes.image, { model: 'aurora-image-1', prompt: 'a fox' });
      return answer.status === 202 && answer.taskId;
    });
    expect(await gateway.poll(apiKey, after)).toMatchObject({ status: 'succeeded' });
    expect(await accountOf(gateway.database, projectId)).toEqual({ balance: 92, reserved: 0 });
  });
});

describe('an API server whose database connections are all in use', () => {
  it('answers 503 to requests that get no connection in time, and serves again once one is free', async () => {
    const { apiKey } = await gateway.project({ credits: 100 });
    const taskId = await gateway.accept(apiKey, mediaRoutes.image, { model: 'aurora-image-1', prompt: 'a fox' });
    await gateway.poll(apiKey, taskId);
    const { name, baseUrl } = await gateway.startApi({
      DATABASE_POOL_MAX: '1',
      DATABASE_CONNECT_TIMEOUT_MS: '2000',
      LIST_TURN_MS: '3000',
      DATABASE_STATEMENT_TIMEOUT_MS: '5000',
    });
    // The task itself has ended, so it would be answered from memory.
    const read = () => gateway.get(apiKey, `/api/v1/tasks/${taskId}/attempts`, { baseUrl });
    await eventually(async () => (await read()).status === 200);
    await gateway.database.transaction('begin', async (query) => {
      await query('', 'lock table task in access exclusive mode');
      const answers = await Promise.all(Array.from({ length: 20 }, read));
      for (const { status, headers, body } of answers) {
        // A list of the same project whose turn does not come in time is `overloaded`.
        expect([503, ['service_unavailable', 'overloaded'].includes(codeOf(body))]).toEqual([status, true]);
        expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      }
    });
    await eventually(async () => (await read()).status === 200);
    await gateway.kill(name, 'SIGTERM');
  });
});

describe('a process whose clock is ten minutes wrong', () => {
  it('uses the clock of the database for deadlines, rate limits, holds and signatures', async () => {
    const { env } = gateway;
    env['NODE_OPTIONS'] = clockOff(600_000);
    const { baseUrl } = await gateway.startApi();
    env['NODE_OPTIONS'] = clockOff(-600_000);
    await gateway.startWorker();
    delete env['NODE_OPTIONS'];
    await gateway.kill('worker-1');

    const { apiKey, webhookSecret, keyId, projectId } = await gateway.project({ credits: 1_000, rpm: 10 });
    const started = Date.now() / 1_000;
    const taskId = await gateway.accept(
      apiKey,
      mediaRoutes.image,
      { model: 'aurora-image-1', prompt: 'a fox', callback_url: receiver.at('clock') },
      { baseUrl },
    );
    const task = await gateway.poll(apiKey, taskId);
    expect(task).toMatchObject({ status: 'succeeded', credits: { charged: 4 } });
    for (const at of [task.created_at, task.started_at, task.completed_at])
      expect(Math.abs((at ?? 0) - started)).toBeLessThan(60);
    const [call] = await eventually(() =>
      Promise.resolve(receiver.calls('clock').length > 0 && receiver.calls('clock')),
    );
    expect(call && verified(call, webhookSecret).data.task_id).toBe(taskId);

    const chat = (index: number): Promise<Answer> =>
      gateway.create(
        apiKey,
        '/api/v1/chat/completions',
        { model: 'gpt-5-mini', messages: [{ role: 'user', content: 'hello' }], max_tokens: 16 },
        { baseUrl: index % 2 === 0 ? baseUrl : gateway.baseUrl },
      );
    const statuses = (await Promise.all(Array.from({ length: 14 }, (_, index) => chat(index)))).map(
      (each) => each.status,
    );
    expect([
      statuses.filter((status) => status === 200).length,
      statuses.filter((status) => status === 429).length,
    ]).toEqual([9, 5]);
    const [holds] = await gateway.database.query<{ wrong: number; counted: number }>(
      '',
      `select count(*)::float8 as counted, count(*) filter (where
         abs(extract(epoch from created_at - clock_timestamp())) > 60
         or extract(epoch from expires_at - created_at) not between 0 and 3700)::float8 as wrong
       from reservation where key_id = $1`,
      [keyId],
    );
    expect(holds).toEqual({ counted: 10, wrong: 0 });
    expect((await accountOf(gateway.database, projectId)).reserved).toBe(0);
  });
});

const imageRequest = (model: string, latencyMs = 50) => ({ model, prompt: `a fox [[latency=${latencyMs}]]` });

const Refused = z.object({ error: z.object({ code: z.string() }) });
const codeOf = (body: Record<string, unknown>): string => Refused.safeParse(body).data?.error.code ?? '';

async function taskRow(
  taskId: string,
): Promise<{ status: string; creditsQuoted: number; creditsCharged: number | null }> {
  const [row] = await gateway.database.query<{
    status: string;
    creditsQuoted: number;
    creditsCharged: number | null;
  }>('', 'select status, credits_quoted, credits_charged from task where id = $1', [taskId]);
  return row ?? { status: 'none', creditsQuoted: 0, creditsCharged: null };
}

/** The path of a copy of the shipped catalog with one changed price and without one model. */
async function changedCatalog(): Promise<string> {
  const { entries } = await loadCatalog(join(projectFolder, 'test/support/catalog'));
  const models = entries
    .filter(({ model }) => model.id !== 'ideogram-v3')
    .map(({ model, private: hidden }) => ({
      ...model,
      ...(model.id === 'flux-1.1-pro' && { pricing: { credits_per_request: 9 } }),
      private: hidden,
    }));
  const file = join(folder, 'catalog.yaml');
  writeFileSync(file, stringify({ models }, { aliasDuplicateObjects: false }));
  return file;
}

/** Sets the default for new sessions and terminates the sessions of all other processes. */
async function setReadOnly(on: boolean): Promise<void> {
  const name = new URL(gateway.databaseUrl).pathname.slice(1);
  await gateway.database.transaction('begin read write', (query) =>
    query('', `alter database "${name}" set default_transaction_read_only = ${on ? 'on' : 'off'}`),
  );
  await gateway.database.query(
    '',
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid()`,
  );
}

/** The NODE_OPTIONS value that shifts the clock of a process. */
const clockOff = (ms: number): string =>
  `--import=data:text/javascript,${encodeURIComponent(
    `const Right=Date;globalThis.Date=class extends Right{constructor(...a){if(a.length)super(...a);else super(Right.now()+${ms})}static now(){return Right.now()+${ms}}}`,
  )}`;
