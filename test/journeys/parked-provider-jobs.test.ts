import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { testConfig } from '../support/test-config.ts';
import { collectSignal } from '../../src/domain/tasks/workflow-contract.ts';
import { forceCancelTask } from '../../src/services/tasks/end/force-cancel-task.ts';
import { runAttempt } from '../../src/services/tasks/attempt/run-attempt.ts';
import { buildDeps } from '../../src/main/build-deps.ts';
import { mediaRoutes, type Task } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { accountOf, attemptsOf, entriesOf } from '../support/rows.ts';
import { sideBySide } from '../support/side-by-side.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({
    temporalClient: true,
    env: { POLL_INLINE_SECONDS: '0.2', VIDEO_DEADLINE_SECONDS: '16', CANCEL_WAIT_SECONDS: '10' },
  });
  // The other families of the catalog's models answer the submit with the result, or cannot be asked to stop.
  await gateway.database.query('', `update channel set enabled = (adapter = 'fal')`);
});
afterAll(() => gateway.stop());
afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

describe('a job that runs for longer than POLL_INLINE_SECONDS', () => {
  const together = sideBySide();

  together('runs without an activity, and its result is collected with one submit and one charge', async () => {
    const { apiKey, projectId, taskId, mark } = await parked('a fox [[latency=20000]]');
    // The activity that parked the job may still be reporting it.
    await eventually(async () => !(await workflow(taskId).describe()).raw.pendingActivities?.length, {
      what: 'a workflow without an activity',
    });
    expect(await rowOf(taskId)).toEqual({ parked: true, outcome: null });
    const task = await gateway.poll(apiKey, taskId);
    expect(task).toMatchObject({ status: 'succeeded', attempts: 1, credits: { charged: 4, refunded: 0 } });
    expect(await gateway.hits(mark, 'submit')).toHaveLength(1);
    expect(await entriesOf(gateway.database, taskId)).toEqual({ settle: 1 });
    expect(await accountOf(gateway.database, projectId)).toEqual({ balance: 96, reserved: 0 });
    expect(await rowOf(taskId)).toEqual({ parked: false, outcome: 'ok' });
  });

  together('that fails is followed by the next channel', async () => {
    const { apiKey, taskId } = await parked(
      'a fox [[fail=late_fail on=sandbox-a]] [[fail=late_fail on=sandbox-b]] [[latency=10000]]',
    );
    expect(await gateway.poll(apiKey, taskId)).toMatchObject({ status: 'succeeded', credits: { charged: 4 } });
    const outcomes = (await attemptsOf(gateway.database, taskId)).map(({ outcome }) => outcome);
    expect(outcomes.at(-1)).toBe('ok');
    expect(outcomes.slice(0, -1).every((outcome) => outcome === 'transient')).toBe(true);
    expect(await entriesOf(gateway.database, taskId)).toEqual({ settle: 1 });
  });

  together(
    'and past the deadline of its task ends the task with a refund, and is stopped at the upstream',
    async () => {
      const { apiKey, taskId, mark } = await parked('a dancer [[fail=never]]', 'video');
      const task = await gateway.poll(apiKey, taskId);
      expect(task).toMatchObject({ status: 'failed', error: { code: 'task_timeout' }, credits: { charged: 0 } });
      await expectStopped(taskId, mark);
    },
  );

  together('is canceled for its client if the upstream stops it, and its attempt ends as canceled', async () => {
    const { apiKey, taskId, mark } = await parked('a fox [[fail=never]]');
    expect(await gateway.create(apiKey, `/api/v1/tasks/${taskId}/cancel`, '')).toMatchObject({ status: 200 });
    expect(await gateway.poll(apiKey, taskId)).toMatchObject({ status: 'canceled', credits: { refunded: 4 } });
    await expectStopped(taskId, mark);
    await eventually(async () => (await workflow(taskId).describe()).status.name === 'CANCELLED');
  });

  together('is not canceled for its client while it is generating, and its result is collected', async () => {
    const { apiKey, taskId } = await parked('a fox [[latency=16000]]');
    await eventually(async () => (await ageOf(taskId)) > 8.2, { what: 'the second half of the job' });
    const refused = await gateway.create(apiKey, `/api/v1/tasks/${taskId}/cancel`, '');
    expect(refused).toMatchObject({ status: 409, body: { error: { code: 'task_not_cancelable' } } });
    expect(await gateway.poll(apiKey, taskId)).toMatchObject({ status: 'succeeded', credits: { charged: 4 } });
  });

  together('is canceled with its workflow, refunded, and stopped at the upstream once', async () => {
    const { apiKey, taskId, mark } = await parked('a fox [[fail=never]]');
    await workflow(taskId).cancel();
    expect(await gateway.poll(apiKey, taskId)).toMatchObject({
      status: 'canceled',
      error: { code: 'canceled' },
      credits: { charged: 0, refunded: 4 },
    });
    await expectStopped(taskId, mark);
    expect(await entriesOf(gateway.database, taskId)).toEqual({ refund: 1 });
    await eventually(async () => (await workflow(taskId).describe()).status.name === 'CANCELLED');
  });

  together('is canceled by the command of an operator, and its workflow ends', async () => {
    const { taskId, mark } = await parked('a fox [[fail=never]]');
    const { deps, close } = await buildDeps(testConfig({ ...gateway.env, LOG_LEVEL: 'silent' }), 'operator');
    try {
      expect(await forceCancelTask(deps, { taskId, actor: 'test' })).toMatchObject({ ended: true, refunded: 4 });
    } finally {
      await close();
    }
    await expectStopped(taskId, mark);
    await eventually(async () => (await workflow(taskId).describe()).status.name !== 'RUNNING');
  });

  together('whose workflow was terminated starts it again when the job has ended', async () => {
    const { apiKey, taskId, mark } = await parked('a fox [[latency=20000]]');
    await workflow(taskId).terminate();
    expect(await gateway.poll(apiKey, taskId)).toMatchObject({ status: 'succeeded', attempts: 1 });
    expect(await gateway.hits(mark, 'submit')).toHaveLength(1);
    expect(await entriesOf(gateway.database, taskId)).toEqual({ settle: 1 });
  });
});

describe('a parked job that the database lost, as after a failover to a standby', () => {
  it('is not bought again by its running workflow, and its task ends with a refund', async () => {
    const { apiKey, taskId, mark } = await parked('a fox [[fail=never]]');
    await gateway.database.query('', 'delete from attempt where request_id = $1', [taskId]);
    await workflow(taskId).signal(collectSignal);
    expect(await gateway.poll(apiKey, taskId)).toMatchObject({
      status: 'failed',
      error: { code: 'upstream_outcome_unknown' },
      credits: { charged: 0, refunded: 4 },
    });
    expect(await gateway.hits(mark, 'submit')).toHaveLength(1);
    expect(await entriesOf(gateway.database, taskId)).toEqual({ refund: 1 });
  });
});

describe('a worker that is killed while its jobs are parked', () => {
  it('leaves them to the next worker, which collects each result with one submit and one charge', async () => {
    const parkedTasks = await Promise.all(Array.from({ length: 10 }, () => parked('a fox [[latency=20000]]')));
    await gateway.kill('worker-1');
    await gateway.startWorker();
    for (const { apiKey, taskId, mark } of parkedTasks) {
      expect(await gateway.poll(apiKey, taskId)).toMatchObject({ status: 'succeeded', attempts: 1 });
      expect(await gateway.hits(mark, 'submit')).toHaveLength(1);
      expect(await entriesOf(gateway.database, taskId)).toEqual({ settle: 1 });
    }
  });
});

describe('a parked job without a worker', () => {
  it('is parked again by a run that finds it unfinished, and only if the workflow can wait', async () => {
    // Before the task, because a slow machine takes seconds to load what they need.
    const { deps, close } = await buildDeps(testConfig({ ...gateway.env, LOG_LEVEL: 'silent' }), 'worker');
    try {
      await expectParkedAgain(deps);
    } finally {
      await close();
    }
  });

  async function expectParkedAgain(deps: Parameters<typeof runAttempt>[0]): Promise<void> {
    const { apiKey, taskId, mark } = await parked('a fox [[latency=20000]]');
    // No sweep may start another run meanwhile.
    for (const name of Object.keys(gateway.pids()).filter((one) => one.startsWith('worker'))) await gateway.kill(name);
    await workflow(taskId).terminate();
    const [row] = await gateway.database.query<{ channelId: string }>(
      '',
      'select channel_id from attempt where request_id = $1',
      [taskId],
    );
    const input = { taskId, channelId: row?.channelId ?? '' };
    const never = new AbortController().signal;
    const run = (parkable: { parkable?: true }) =>
      runAttempt(deps, { ...input, ...parkable }, { canceled: never, shutdown: never });
    expect(await run({ parkable: true })).toMatchObject({ kind: 'parked' });
    expect(await run({})).toMatchObject({ kind: 'ok' });
    expect(await gateway.poll(apiKey, taskId)).toMatchObject({ status: 'succeeded', attempts: 1 });
    expect(await gateway.hits(mark, 'submit')).toHaveLength(1);
  }
});

const workflow = (taskId: string) => gateway.temporal.client.workflow.getHandle(taskId);

/** Whether the task's last attempt is parked, and its outcome. */
async function rowOf(taskId: string): Promise<{ parked: boolean; outcome: string | null } | undefined> {
  const [row] = await gateway.database.query<{ parked: boolean; outcome: string | null }>(
    '',
    'select next_poll_at is not null as parked, outcome from attempt where request_id = $1 order by n desc limit 1',
    [taskId],
  );
  return row;
}

/** Seconds since the upstream accepted the job. */
async function ageOf(taskId: string): Promise<number> {
  const [row] = await gateway.database.query<{ age: number }>(
    '',
    'select extract(epoch from clock_timestamp() - submitted_at)::float8 as age from attempt where request_id = $1',
    [taskId],
  );
  return row?.age ?? 0;
}

async function expectStopped(taskId: string, mark: string): Promise<void> {
  await eventually(async () => (await gateway.hits(mark, 'cancel')).length > 0, { what: 'the stop at the upstream' });
  await eventually(async () => (await rowOf(taskId))?.outcome === 'canceled', { what: 'the end of the attempt' });
  expect(await rowOf(taskId)).toEqual({ parked: false, outcome: 'canceled' });
  expect(await gateway.hits(mark, 'submit')).toHaveLength(1);
}

/** Creates a task and waits until its job is parked. */
async function parked(prompt: string, type: 'image' | 'video' = 'image') {
  const { apiKey, projectId } = await gateway.project({ credits: 100 });
  const mark = randomUUID();
  const model = type === 'image' ? 'aurora-image-1' : 'kling-2.5-turbo';
  const taskId = await gateway.accept(apiKey, mediaRoutes[type], { model, prompt: `${prompt} ${mark}` });
  await eventually(async () => (await rowOf(taskId))?.parked, { what: 'a parked job' });
  const task: Task = await gateway.poll(apiKey, taskId, { until: () => true });
  expect(task.status).toBe('processing');
  return { apiKey, projectId, taskId, mark };
}
