import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { noteChannelFailure, coolDownChannel } from '../../../src/db/channels/channels.ts';
import {
  beginScheduledJob,
  endScheduledJob,
  findScheduledJobRun,
} from '../../../src/db/scheduled-jobs/scheduled-job-runs.ts';
import { scheduledJobNames } from '../../../src/domain/tasks/scheduled-job.ts';
import { newId } from '../../../src/platform/crypto/ids.ts';
import { mediaRoutes } from '../../support/api-client.ts';
import { eventually } from '../../support/eventually.ts';
import { startGateway, type Gateway } from '../../support/gateway.ts';
import { compileCache, nodeBinary, projectFolder } from '../../support/program.ts';
import { accountOf, entriesOf } from '../../support/rows.ts';
import { callScheduledJob, codeOf, isUnderWay, runByCall, runsOf } from '../../services/scheduled-jobs/scheduler.ts';
import { spec } from '../../spec/spec.ts';

let gateway: Gateway;

beforeAll(async () => {
  // The sweeps are off, so every change in these tests comes from a job.
  gateway = await startGateway({ temporalClient: true, apis: 2, workers: 2, env: { SWEEP_INTERVAL_SECONDS: '3600' } });
});
afterAll(() => gateway?.stop());

describe('a call of a job', () => {
  it('gets 401 invalid_job_token without a token, with a wrong one or with an API key', async () => {
    const { apiKey } = await gateway.project();
    for (const token of ['', 'x'.repeat(40), apiKey]) {
      const answer = await callScheduledJob(gateway, 'check-stale-media-tasks', { token });
      expect([answer.status, codeOf(answer)]).toEqual([401, 'invalid_job_token']);
    }
    expect((await callScheduledJob(gateway, 'scheduled-maintenance', { method: 'GET', token: apiKey })).status).toBe(
      401,
    );
    expect(await runsOf(gateway, 'check-stale-media-tasks')).toEqual([]);
  });

  it('needs a job token that client routes refuse with 401 invalid_api_key', async () => {
    const { status, body } = await gateway.get(gateway.env['INTERNAL_JOB_TOKENS'] ?? '', '/api/v1/models');
    expect([status, body]).toMatchObject([401, { error: { code: 'invalid_api_key' } }]);
  });

  it('gets 503 and runs nothing if no token is configured', async () => {
    const token = gateway.env['INTERNAL_JOB_TOKENS'] ?? '';
    gateway.env['INTERNAL_JOB_TOKENS'] = '';
    const { baseUrl } = await gateway.startApi().finally(() => (gateway.env['INTERNAL_JOB_TOKENS'] = token));
    for (const sentToken of [token, '']) {
      const answer = await callScheduledJob(gateway, 'check-stale-media-tasks', { baseUrl, token: sentToken });
      expect([answer.status, codeOf(answer)]).toEqual([503, 'service_unavailable']);
    }
    expect(await runsOf(gateway, 'check-stale-media-tasks')).toEqual([]);
  });

  it.each(scheduledJobNames.filter((name) => name !== 'scheduled-maintenance'))(
    'gets 405 for GET on %s',
    async (name) => {
      const answer = await callScheduledJob(gateway, name, { method: 'GET' });
      expect([answer.status, codeOf(answer), answer.headers.get('allow')]).toEqual([405, 'method_not_allowed', 'POST']);
    },
  );

  it('gets 404 for an unknown job', async () => {
    expect((await callScheduledJob(gateway, 'drop-everything')).status).toBe(404);
  });
});

/** Begins a run of which nothing comes. Waits while another run is under way, such as one that Temporal began late for a former call. */
const begin = (run: Omit<Parameters<typeof beginScheduledJob>[1], 'request'>) =>
  eventually(async () => {
    const { verdict } = await beginScheduledJob(gateway.database, { ...run, request: false });
    return verdict === 'running';
  });

describe('a job', () => {
  it.each(scheduledJobNames)('runs through its Schedule and answers with its run: %s', async (name) => {
    const { status, body } = await runByCall(gateway, name);
    expect([200, 202]).toContain(status);
    expect(body).toMatchObject({
      name,
      ran: true,
      state: 'succeeded',
      trigger: 'endpoint',
      summary: { ms: expect.anything() },
    });
    // A call that stops waiting answers 202. Only then may a second run of the same job exist.
    // The Schedule's own turn may come meanwhile.
    const called = (await runsOf(gateway, name)).filter(({ trigger }) => trigger === 'endpoint');
    const runs = called.filter(({ id }) => status === 200 || id === body['run_id']);
    expect(runs).toEqual([expect.objectContaining({ id: body['run_id'], state: 'succeeded' })]);
    const workflows = gateway.temporal.client.workflow.list({ query: `WorkflowType = 'job'` });
    const ids = new Set<string>();
    let reads = 0;
    await eventually(
      async () => {
        // Where Temporal does not answer within two seconds, the API server runs the job itself.
        if ((reads += 1) % 50 === 0) await runByCall(gateway, name);
        for await (const { workflowId } of workflows) if (workflowId.startsWith(`job:${name}`)) ids.add(workflowId);
        return ids.size > 0;
      },
      { secondsMax: 180, what: `a workflow of ${name} in the list` },
    );
    expect(ids.size).toBeLessThanOrEqual((await runsOf(gateway, name)).length);
  });

  it('lists its latest runs, newest first', async () => {
    await runByCall(gateway, 'scheduled-maintenance');
    // A call that stopped waiting ran the job itself, and the run that it asked Temporal for may come after that one.
    const { status, body, recordedIds } = await eventually(async () => {
      const before = await runsOf(gateway, 'scheduled-maintenance');
      const listed = await callScheduledJob(gateway, 'scheduled-maintenance', { method: 'GET' });
      const after = await runsOf(gateway, 'scheduled-maintenance');
      const isQuiet = before.length === after.length && !before.some(isUnderWay);
      return isQuiet && { ...listed, recordedIds: after.map(({ id }) => id).reverse() };
    });
    expect(status).toBe(200);
    expect(recordedIds.length).toBeGreaterThanOrEqual(2);
    expect(body['data']).toMatchObject(
      recordedIds.map((id) => ({ run_id: id, name: 'scheduled-maintenance', state: 'succeeded' })),
    );
    const one = await callScheduledJob(gateway, 'scheduled-maintenance?limit=1', { method: 'GET' });
    expect(one.body['data']).toMatchObject([{ run_id: recordedIds[0] }]);
    for (const query of ['limit=0', 'limit=all', 'Limit=1']) {
      const refused = await callScheduledJob(gateway, `scheduled-maintenance?${query}`, { method: 'GET' });
      expect(refused).toMatchObject({ status: 400, body: { error: { param: query.split('=')[0] } } });
    }
  });

  it('answers already_running while another run holds its lock', async () => {
    const held = { name: 'scheduled-maintenance', runId: newId('run'), trigger: 'operator', leaseSeconds: 60 } as const;
    await begin(held);
    const { status, body } = await callScheduledJob(gateway, 'scheduled-maintenance');
    expect([status, body]).toEqual([200, { ran: false, reason: 'already_running' }]);
    await endScheduledJob(gateway.database, { runId: held.runId, state: 'succeeded', summary: {} });
    expect((await runByCall(gateway, 'scheduled-maintenance')).body).toMatchObject({ ran: true });
  });

  it('takes the lock over from a run whose lease has expired, and marks that run as lost', async () => {
    const dead = { name: 'check-api-channels', runId: newId('run'), trigger: 'loop', leaseSeconds: 0 } as const;
    await begin(dead);
    expect((await runByCall(gateway, 'check-api-channels')).body).toMatchObject({ ran: true });
    expect(await findScheduledJobRun(gateway.database, dead.runId)).toMatchObject({ state: 'lost' });
    // The expired run reports its end too late and changes nothing.
    expect(await endScheduledJob(gateway.database, { runId: dead.runId, state: 'succeeded', summary: {} })).toBe(false);
  });
});

describe('two schedulers that call every job at the same moment', () => {
  it('both get an answer, and every row is processed once', async () => {
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
      '',
      `update task set deadline_at = clock_timestamp() - interval '1 second' where project_id = $1`,
      [projectId],
    );
    const answers = await Promise.all(
      scheduledJobNames.flatMap((name) =>
        gateway.baseUrls.slice(0, 2).map((baseUrl) => callScheduledJob(gateway, name, { baseUrl })),
      ),
    );
    // 202 means that the run continues.
    for (const { status } of answers) expect([200, 202]).toContain(status);
    const ran = answers.filter(({ body }) => body['ran'] !== false).map(({ body }) => body['name']);
    expect([...new Set(ran)].sort()).toEqual([...scheduledJobNames].sort());
    for (const { body } of answers)
      if (body['ran'] === false) expect(body).toEqual({ ran: false, reason: 'already_running' });

    for (const name of scheduledJobNames)
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
  it('makes a tripped channel that answers available again, and no channel that is cooling down, dead or disabled', async () => {
    spec('4.8 check-api-channels');
    const earlier = (await runsOf(gateway, 'check-api-channels')).length;
    const channels = await gateway.database.query<{ id: string; name: string }>(
      '',
      'select id, name from channel order by name limit 4',
    );
    const [answering, dead, coolingDown, disabled] = channels.map(({ id }) => id);
    // In one transaction, so that a process sees all of it or nothing.
    await gateway.database.transaction('begin', async (query, inside) => {
      for (const channelId of [answering, dead, disabled]) {
        const call = {
          channelId: channelId ?? '',
          modelId: 'some-model',
          ageSeconds: 0,
          // A loop of the worker would reopen one that could not be reached.
          reason: 'timeout',
          trip: true,
        };
        await noteChannelFailure(inside, call, { failuresMax: 5, trippedSeconds: 600, trippedMaxSeconds: 600 });
      }
      await coolDownChannel(inside, {
        channelId: coolingDown ?? '',
        modelId: '*',
        seconds: 600,
        reason: 'account',
      });
      await query('', `update channel set base_url = 'http://127.0.0.1:1' where id = $1`, [dead]);
      await query('', 'update channel set enabled = false where id = $1', [disabled]);
    });

    // Each process caches the channels for up to two seconds. Until then the job finds nothing to probe.
    const body = await eventually(
      async () => {
        const ran = await runByCall(gateway, 'check-api-channels');
        // The job's own Schedule may have reopened the one first. The dead one is probed again by each run.
        const runs = (await runsOf(gateway, 'check-api-channels')).slice(earlier);
        const isReopened = runs.some(({ summary }) => Number(summary?.['reopened']) === 1);
        // A run that began later than its caller waited answers that it is already running.
        const { data } = z.object({ summary: z.object({ failed: z.number() }) }).safeParse(ran.body);
        return isReopened && data?.summary.failed === 1 && ran.body;
      },
      { secondsMax: 180, what: 'a run that probes both channels' },
    );
    expect(body).toMatchObject({ state: 'succeeded' });
    const { summary } = z.object({ summary: z.object({ checked: z.number() }) }).parse(body);
    expect(summary.checked).toBeGreaterThan(0);
    const unavailable = await gateway.database.query<{ channelId: string }>(
      '',
      'select channel_id from channel_health where unavailable_until > clock_timestamp()',
    );
    expect(unavailable.map(({ channelId: id }) => id).sort()).toEqual([dead, coolingDown, disabled].sort());
  });
});

describe('tollgate jobs run', () => {
  const tollgate = (...args: string[]) =>
    promisify(execFile)(nodeBinary, [join(projectFolder, 'src/main/cli.ts'), 'jobs', 'run', ...args, '--json'], {
      env: { ...compileCache(), ...gateway.env },
      timeout: 120_000,
    });

  it('runs a job in its own process and records the trigger operator', async () => {
    // A run that Temporal began late, for a call of another test, may be under way.
    const printed = await eventually(async () => {
      const report = z
        .looseObject({ ran: z.boolean() })
        .parse(JSON.parse((await tollgate('check-stale-media-tasks')).stdout));
      return report.ran && report;
    });
    expect(printed).toMatchObject({
      name: 'check-stale-media-tasks',
      ran: true,
      state: 'succeeded',
      summary: { failed: 0 },
    });
    const [latest] = (await runsOf(gateway, 'check-stale-media-tasks')).reverse();
    expect(latest).toMatchObject({ trigger: 'operator', state: 'succeeded' });
  });

  it('exits with 2 for an unknown job', async () => {
    await expect(tollgate('drop-everything')).rejects.toMatchObject({ code: 2 });
  });
});
