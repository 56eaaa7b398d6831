import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { noteChannelFailure, coolDownChannel } from '../../../src/db/channels.ts';
import { beginJob, endJob, findJobRun } from '../../../src/db/jobs.ts';
import { jobNames } from '../../../src/domain/job.ts';
import { newId } from '../../../src/platform/crypto/ids.ts';
import { mediaRoutes } from '../../support/api-client.ts';
import { eventually } from '../../support/eventually.ts';
import { startGateway, type Gateway } from '../../support/gateway.ts';
import { nodeBinary, projectFolder } from '../../support/program.ts';
import { accountOf, entriesOf } from '../../support/rows.ts';
import { callJob, codeOf, isUnderWay, runByCall, runsOf } from '../../commands/jobs/scheduler.ts';
import { spec } from '../../spec/spec.ts';

let gateway: Gateway;

beforeAll(async () => {
  // No sweep: what is done here, a job did.
  gateway = await startGateway({ apis: 2, workers: 2, env: { SWEEP_INTERVAL_SECONDS: '3600' } });
});
afterAll(() => gateway?.stop());

describe('who may call a job', () => {
  it('needs a job token: none, a wrong one and an API key are 401 invalid_job_token', async () => {
    const { apiKey } = await gateway.project();
    for (const token of ['', 'x'.repeat(40), apiKey]) {
      const answer = await callJob(gateway, 'check-stale-media-tasks', { token });
      expect([answer.status, codeOf(answer)]).toEqual([401, 'invalid_job_token']);
    }
    expect((await callJob(gateway, 'scheduled-maintenance', { method: 'GET', token: apiKey })).status).toBe(401);
    expect(await runsOf(gateway, 'check-stale-media-tasks')).toEqual([]);
  });

  it('takes no job token on a client route: 401 invalid_api_key', async () => {
    const { status, body } = await gateway.get(gateway.env['INTERNAL_JOB_TOKENS'] ?? '', '/api/v1/models');
    expect([status, body]).toMatchObject([401, { error: { code: 'invalid_api_key' } }]);
  });

  it('is nobody where no token is configured: 503, and nothing runs', async () => {
    const token = gateway.env['INTERNAL_JOB_TOKENS'] ?? '';
    gateway.env['INTERNAL_JOB_TOKENS'] = '';
    const { baseUrl } = await gateway.startApi().finally(() => (gateway.env['INTERNAL_JOB_TOKENS'] = token));
    for (const given of [token, '']) {
      const answer = await callJob(gateway, 'check-stale-media-tasks', { baseUrl, token: given });
      expect([answer.status, codeOf(answer)]).toEqual([503, 'service_unavailable']);
    }
    expect(await runsOf(gateway, 'check-stale-media-tasks')).toEqual([]);
  });

  it.each(jobNames.filter((name) => name !== 'scheduled-maintenance'))('GET on %s is 405', async (name) => {
    const answer = await callJob(gateway, name, { method: 'GET' });
    expect([answer.status, codeOf(answer), answer.headers.get('allow')]).toEqual([405, 'method_not_allowed', 'POST']);
  });

  it('finds no job of another name: 404', async () => {
    expect((await callJob(gateway, 'drop-everything')).status).toBe(404);
  });
});

describe('a job that is called', () => {
  it.each(jobNames)('%s runs by its Schedule and answers with its run', async (name) => {
    const { status, body } = await runByCall(gateway, name);
    expect([200, 202]).toContain(status);
    expect(body).toMatchObject({
      name,
      ran: true,
      state: 'succeeded',
      trigger: 'endpoint',
      summary: { ms: expect.anything() },
    });
    // Only where it was told to wait no longer may a second one have begun what the first had.
    const runs = (await runsOf(gateway, name)).filter(({ id }) => status === 200 || id === body['run_id']);
    expect(runs).toEqual([expect.objectContaining({ id: body['run_id'], state: 'succeeded' })]);
    const workflows = gateway.temporal.client.workflow.list({ query: `WorkflowType = 'job'` });
    const ids: string[] = [];
    await eventually(async () => {
      for await (const { workflowId } of workflows) if (workflowId.startsWith(`job:${name}`)) ids.push(workflowId);
      return ids.length > 0;
    });
    expect(ids).toHaveLength(1);
  });

  it('tells its latest runs, newest first', async () => {
    await runByCall(gateway, 'scheduled-maintenance');
    const { status, body } = await callJob(gateway, 'scheduled-maintenance', { method: 'GET' });
    const known = (await runsOf(gateway, 'scheduled-maintenance')).map(({ id }) => id).reverse();
    expect(status).toBe(200);
    expect(known.length).toBeGreaterThanOrEqual(2);
    expect(body['data']).toMatchObject(
      known.map((id) => ({ run_id: id, name: 'scheduled-maintenance', state: 'succeeded' })),
    );
  });

  it('says so when it is under way already', async () => {
    const held = { name: 'scheduled-maintenance', runId: newId('run'), trigger: 'operator', leaseSeconds: 60 } as const;
    expect((await beginJob(gateway.database, { ...held, request: false })).verdict).toBe('running');
    const { status, body } = await callJob(gateway, 'scheduled-maintenance');
    expect([status, body]).toEqual([200, { ran: false, reason: 'already_running' }]);
    await endJob(gateway.database, { runId: held.runId, state: 'succeeded', summary: {} });
    expect((await runByCall(gateway, 'scheduled-maintenance')).body).toMatchObject({ ran: true });
  });

  it('takes over the lock of a run whose lease is over, which then counts as lost', async () => {
    const dead = { name: 'check-api-channels', runId: newId('run'), trigger: 'loop', leaseSeconds: 0 } as const;
    await beginJob(gateway.database, { ...dead, request: false });
    expect((await runByCall(gateway, 'check-api-channels')).body).toMatchObject({ ran: true });
    expect(await findJobRun(gateway.database, dead.runId)).toMatchObject({ state: 'lost' });
    // Its late end changes nothing any more.
    expect(await endJob(gateway.database, { runId: dead.runId, state: 'succeeded', summary: {} })).toBe(false);
  });
});

describe('two schedulers that call every job at the same moment', () => {
  it('are both answered, and every row is handled once', async () => {
    spec('4.8 process-pending-callbacks', '4.8 check-stale-media-tasks');
    const { projectId, apiKey } = await gateway.project({ credits: 400 });
    const taskIds = await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        gateway.accept(apiKey, mediaRoutes.image, {
          model: 'aurora-image-1',
          prompt: `stale ${index} [[latency=60000]]`,
        }),
      ),
    );
    await gateway.database.query(
      { name: '', text: `update task set deadline_at = clock_timestamp() - interval '1 second' where project_id = $1` },
      [projectId],
    );
    const answers = await Promise.all(
      jobNames.flatMap((name) => gateway.baseUrls.slice(0, 2).map((baseUrl) => callJob(gateway, name, { baseUrl }))),
    );
    // 202: its run goes on.
    for (const { status } of answers) expect([200, 202]).toContain(status);
    const ran = answers.filter(({ body }) => body['ran'] !== false).map(({ body }) => body['name']);
    expect([...new Set(ran)].sort()).toEqual([...jobNames].sort());
    for (const { body } of answers)
      if (body['ran'] === false) expect(body).toEqual({ ran: false, reason: 'already_running' });

    for (const name of jobNames)
      await eventually(async () => !(await runsOf(gateway, name)).some(isUnderWay), { what: `the end of ${name}` });
    for (const taskId of taskIds) {
      expect(await gateway.poll(apiKey, taskId)).toMatchObject({ status: 'failed', error: { code: 'task_timeout' } });
      expect((await entriesOf(gateway.database, taskId))['refund']).toBe(1);
    }
    expect(await accountOf(gateway.database, projectId)).toEqual({ balance: 400, reserved: 0 });
    expect(Object.values((await gateway.verifyLedger()).invariants).filter(({ breaches }) => breaches > 0)).toEqual([]);
  });
});

describe('check-api-channels', () => {
  it('makes a tripped channel that answers available, and leaves channels that cool down or do not answer', async () => {
    spec('4.8 check-api-channels');
    const channels = await gateway.database.query<{ id: string; name: string }>({
      name: '',
      text: 'select id, name from channel order by name limit 4',
    });
    const [answering, dead, resting, disabled] = channels.map(({ id }) => id);
    for (const channelId of [answering, dead, disabled]) {
      const call = { channelId: channelId ?? '', modelId: 'some-model', ageSeconds: 0, reason: 'connect', trip: true };
      await noteChannelFailure(gateway.database, call, { failuresMax: 5, trippedSeconds: 600, trippedMaxSeconds: 600 });
    }
    await coolDownChannel(gateway.database, {
      channelId: resting ?? '',
      modelId: '*',
      seconds: 600,
      reason: 'account',
    });
    await gateway.database.query(
      { name: '', text: `update channel set base_url = 'http://127.0.0.1:1' where id = $1` },
      [dead],
    );
    await gateway.database.query({ name: '', text: 'update channel set enabled = false where id = $1' }, [disabled]);

    // A process may know the channels as they were a moment ago.
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    const { body } = await runByCall(gateway, 'check-api-channels');
    expect(body).toMatchObject({ state: 'succeeded', summary: { probed: 2, reopened: 1, failed: 1 } });
    const closed = await gateway.database.query<{ channel_id: string }>({
      name: '',
      text: 'select channel_id from channel_health where closed_until > clock_timestamp()',
    });
    expect(closed.map(({ channel_id: id }) => id).sort()).toEqual([dead, resting, disabled].sort());
  });
});

describe('tollgate jobs run', () => {
  const tollgate = (...args: string[]) =>
    promisify(execFile)(nodeBinary, [join(projectFolder, 'src/main/cli.ts'), 'jobs', 'run', ...args, '--json'], {
      env: gateway.env,
      timeout: 30_000,
    });

  it('runs a job in its own process and remembers who asked', async () => {
    const { stdout } = await tollgate('check-stale-media-tasks');
    const said: unknown = JSON.parse(stdout);
    expect(said).toMatchObject({
      name: 'check-stale-media-tasks',
      ran: true,
      state: 'succeeded',
      summary: { failed: 0 },
    });
    const [latest] = (await runsOf(gateway, 'check-stale-media-tasks')).reverse();
    expect(latest).toMatchObject({ trigger: 'operator', state: 'succeeded' });
  });

  it('refuses a job of another name', async () => {
    await expect(tollgate('drop-everything')).rejects.toMatchObject({ code: 2 });
  });
});
