import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { mediaRoutes, type Task } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { accountOf, attemptsOf, entriesOf } from '../support/rows.ts';
import { sideBySide } from '../support/side-by-side.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({
    temporalClient: true,
    env: { SWEEP_SILENT_SECONDS: '5', ATTEMPT_HEARTBEAT_TIMEOUT_SECONDS: '4' },
  });
});
afterAll(() => gateway.stop());
afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

describe('an operator in Temporal', () => {
  const together = sideBySide();

  together('cancels a workflow, and the task is canceled, refunded and canceled at the upstream once', async () => {
    const { apiKey, projectId, taskId, mark } = await submitted('a fox [[fail=never]]');
    await workflow(taskId).cancel();
    const task = await gateway.poll(apiKey, taskId);
    expect(task).toMatchObject({
      status: 'canceled',
      error: { code: 'canceled' },
      output: null,
      credits: { charged: 0, refunded: 4 },
    });
    expect(await entriesOf(gateway.database, taskId)).toEqual({ refund: 1 });
    expect(await accountOf(gateway.database, projectId)).toEqual({ balance: 100, reserved: 0 });
    await eventually(async () => (await gateway.hits(mark, 'cancel')).length > 0, { what: 'the cancel upstream' });
    await eventually(async () => (await workflow(taskId).describe()).status.name === 'CANCELLED');
    expect(await gateway.hits(mark, 'cancel')).toHaveLength(1);
    expect(await gateway.hits(mark, 'submit')).toHaveLength(1);
  });

  together('terminates a workflow, and the sweep resumes the task, which succeeds with one submit', async () => {
    const { apiKey, projectId, taskId, mark } = await submitted('a fox [[latency=30000]]');
    // A sweep may start the next run before this run is described.
    const { runId } = await workflow(taskId).describe();
    await workflow(taskId).terminate();
    expect((await workflow(taskId, runId).describe()).status.name).toBe('TERMINATED');
    const task = await gateway.poll(apiKey, taskId);
    expect(task).toMatchObject({ status: 'succeeded', attempts: 1, credits: { charged: 4, refunded: 0 } });
    expect(await gateway.hits(mark, 'submit')).toHaveLength(1);
    expect(await attemptsOf(gateway.database, taskId)).toMatchObject([{ n: 1, outcome: 'ok' }]);
    expect(await entriesOf(gateway.database, taskId)).toEqual({ settle: 1 });
    expect(await accountOf(gateway.database, projectId)).toEqual({ balance: 96, reserved: 0 });
  });

  together('terminates a workflow between two channels, and no channel gets a second submit', async () => {
    const { apiKey, taskId, mark } = await submitted(
      'a fox [[fail=late_fail on=sandbox-a latency=50]] [[latency=30000]]',
    );
    await workflow(taskId).terminate();
    const task = await gateway.poll(apiKey, taskId);
    expect(task.status).toBe('succeeded');
    const channels = (await gateway.hits(mark, 'submit')).map(({ channel }) => channel);
    expect(channels).toEqual([...new Set(channels)]);
    expect(await entriesOf(gateway.database, taskId)).toEqual({ settle: 1 });
  });
});

describe('an operator who resets a workflow to its first step', () => {
  const together = sideBySide();

  together('during its job causes no second submit and no second charge', async () => {
    const { apiKey, taskId, mark } = await submitted('a fox [[latency=20000]]');
    await resetToStart(taskId);
    const task = await gateway.poll(apiKey, taskId);
    expect(task).toMatchObject({ status: 'succeeded', attempts: 1, credits: { charged: 4, refunded: 0 } });
    expect(await gateway.hits(mark, 'submit')).toHaveLength(1);
    expect(await entriesOf(gateway.database, taskId)).toEqual({ settle: 1 });
  });

  together('after its task has ended does not change the task, and the second run completes', async () => {
    const { apiKey, taskId, mark } = await accepted('a fox [[latency=200]]');
    const ended = await gateway.poll(apiKey, taskId);
    await eventually(async () => (await workflow(taskId).describe()).status.name === 'COMPLETED');
    await resetToStart(taskId);
    await eventually(async () => (await workflow(taskId).describe()).status.name === 'COMPLETED');
    const { output, ...task } = await gateway.poll(apiKey, taskId);
    expect({ ...task, output: output?.map(({ sha256 }) => sha256) }).toEqual({
      ...ended,
      output: ended.output?.map(({ sha256 }) => sha256),
    });
    expect(await gateway.hits(mark, 'submit')).toHaveLength(1);
    expect(await entriesOf(gateway.database, taskId)).toEqual({ settle: 1 });
  });
});

describe('a worker that is frozen for longer than its heartbeat timeout', () => {
  it('and resumes after Temporal has reassigned its activity causes no second submit and no second charge', async () => {
    const { apiKey, taskId, mark } = await submitted('a fox [[latency=30000]]');
    await gateway.kill('worker-1', 'SIGSTOP');
    let other: string;
    try {
      const held = await fenceOf(taskId);
      ({ name: other } = await gateway.startWorker());
      // Temporal may also hand the activity to a pending poll of the frozen worker, so both conditions count.
      await eventually(
        async () => {
          const { raw } = await workflow(taskId).describe();
          return (raw.pendingActivities?.[0]?.attempt ?? 0) >= 2 || (await fenceOf(taskId)) !== held;
        },
        { what: 'the reassignment of the activity' },
      );
    } finally {
      await gateway.kill('worker-1', 'SIGCONT');
    }
    const ended = await gateway.poll(apiKey, taskId);
    expect(ended).toMatchObject({ status: 'succeeded', attempts: 1, credits: { charged: 4, refunded: 0 } });
    // Once the resumed worker completes a new task, its old activity has ended too.
    await gateway.kill(other);
    const next = await accepted('a fox [[latency=200]]');
    expect(await gateway.poll(next.apiKey, next.taskId)).toMatchObject({ status: 'succeeded' });
    expect(await gateway.hits(mark, 'submit')).toHaveLength(1);
    expect(await attemptsOf(gateway.database, taskId)).toMatchObject([{ n: 1, outcome: 'ok' }]);
    expect(await entriesOf(gateway.database, taskId)).toEqual({ settle: 1 });
    expect(await gateway.poll(apiKey, taskId)).toMatchObject({ completed_at: ended.completed_at, attempts: 1 });
  });
});

describe('a worker that is killed while a job runs', () => {
  it('leaves the job to the next worker, which continues to poll the same job', async () => {
    const { apiKey, taskId, mark } = await submitted('a fox [[latency=20000]]');
    // This worker is the only one, so a new worker must continue the job.
    await gateway.kill('worker-1');
    await gateway.startWorker();
    const task = await gateway.poll(apiKey, taskId);
    expect(task).toMatchObject({ status: 'succeeded', attempts: 1, credits: { charged: 4 } });
    expect(await gateway.hits(mark, 'submit')).toHaveLength(1);
    expect(await entriesOf(gateway.database, taskId)).toEqual({ settle: 1 });
  });
});

/** Resets the workflow to its first completed workflow task, as the Temporal UI does. */
async function resetToStart(taskId: string): Promise<void> {
  const { connection, namespace } = gateway.temporal;
  const { events } = await workflow(taskId).fetchHistory();
  const first = events?.find((event) => event.workflowTaskCompletedEventAttributes);
  if (!first) throw new Error(`The workflow of ${taskId} has no completed workflow task`);
  await connection.workflowService.resetWorkflowExecution({
    namespace,
    workflowExecution: { workflowId: taskId, runId: (await workflow(taskId).describe()).runId },
    workflowTaskFinishEventId: first.eventId ?? null,
    requestId: randomUUID(),
    reason: 'a test',
  });
}

const workflow = (taskId: string, runId?: string) => gateway.temporal.client.workflow.getHandle(taskId, runId);

/** The fencing token of the task's only attempt. Each worker that takes the attempt over writes a new token. */
async function fenceOf(taskId: string): Promise<string | undefined> {
  const [row] = await gateway.database.query<{ fence: string }>('', 'select fence from attempt where request_id = $1', [
    taskId,
  ]);
  return row?.fence;
}

async function accepted(prompt: string) {
  const { apiKey, projectId } = await gateway.project({ credits: 100 });
  const mark = randomUUID();
  const taskId = await gateway.accept(apiKey, mediaRoutes.image, {
    model: 'aurora-image-1',
    prompt: `${prompt} ${mark}`,
  });
  return { apiKey, projectId, taskId, mark };
}

/** Creates a task and waits until its job is polled at the upstream. */
async function submitted(prompt: string) {
  const { apiKey, projectId, taskId, mark } = await accepted(prompt);
  const isPolled = async (): Promise<Task | false> =>
    (await gateway.hits(mark, 'poll')).length > 0 && gateway.poll(apiKey, taskId, { until: () => true });
  const task = await eventually(isPolled, { what: 'the first poll of the job' });
  expect(task.status).toBe('processing');
  return { apiKey, projectId, taskId, mark };
}
