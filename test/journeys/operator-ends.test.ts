import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { mediaRoutes, type Task } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { accountOf, attemptsOf, entriesOf } from '../support/rows.ts';
import { sideBySide } from '../support/side-by-side.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ env: { SWEEP_SILENT_SECONDS: '3', ATTEMPT_HEARTBEAT_TIMEOUT_SECONDS: '2' } });
});
afterAll(() => gateway.stop());
afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

describe('an operator who works in Temporal', () => {
  const together = sideBySide();

  together('cancels a task: it is canceled and refunded, and the upstream is told once', async () => {
    const { apiKey, projectId, taskId, mark } = await submitted('a fox [[fail=never]]');
    await workflow(taskId).cancel();
    const task = await gateway.poll(apiKey, taskId);
    expect(task).toMatchObject({
      status: 'canceled',
      error: { code: 'canceled' },
      output: null,
      credits: { charged: 0, refunded: 4 },
    });
    expect(await entriesOf(gateway.database, taskId)).toEqual({ hold: 1, refund: 1 });
    expect(await accountOf(gateway.database, projectId)).toEqual({ balance: 100, reserved: 0 });
    await eventually(async () => (await gateway.hits(mark, 'cancel')).length > 0, { what: 'the cancel upstream' });
    await eventually(async () => (await workflow(taskId).describe()).status.name === 'CANCELLED');
    expect(await gateway.hits(mark, 'cancel')).toHaveLength(1);
    expect(await gateway.hits(mark, 'submit')).toHaveLength(1);
  });

  together('terminates a workflow: the sweep resumes the task, which succeeds with one submit', async () => {
    const { apiKey, projectId, taskId, mark } = await submitted('a fox [[latency=3000]]');
    // A sweep may have begun the next run before this one is looked at.
    const { runId } = await workflow(taskId).describe();
    await workflow(taskId).terminate();
    expect((await workflow(taskId, runId).describe()).status.name).toBe('TERMINATED');
    const task = await gateway.poll(apiKey, taskId);
    expect(task).toMatchObject({ status: 'succeeded', attempts: 1, credits: { charged: 4, refunded: 0 } });
    expect(await gateway.hits(mark, 'submit')).toHaveLength(1);
    expect(await attemptsOf(gateway.database, taskId)).toMatchObject([{ n: 1, outcome: 'ok' }]);
    expect(await entriesOf(gateway.database, taskId)).toEqual({ hold: 1, settle: 1 });
    expect(await accountOf(gateway.database, projectId)).toEqual({ balance: 96, reserved: 0 });
  });

  together('terminates a workflow between two channels: no channel is asked twice', async () => {
    const { apiKey, taskId, mark } = await submitted(
      'a fox [[fail=late_fail on=sandbox-a latency=50]] [[latency=2500]]',
    );
    await workflow(taskId).terminate();
    const task = await gateway.poll(apiKey, taskId);
    expect(task.status).toBe('succeeded');
    const channels = (await gateway.hits(mark, 'submit')).map(({ channel }) => channel);
    expect(channels).toEqual([...new Set(channels)]);
    expect(await entriesOf(gateway.database, taskId)).toEqual({ hold: 1, settle: 1 });
  });
});

describe('an operator who resets a workflow to its first step', () => {
  const together = sideBySide();

  together('while its job runs causes no second submit and no second charge', async () => {
    const { apiKey, taskId, mark } = await submitted('a fox [[latency=3000]]');
    await resetToStart(taskId);
    const task = await gateway.poll(apiKey, taskId);
    expect(task).toMatchObject({ status: 'succeeded', attempts: 1, credits: { charged: 4, refunded: 0 } });
    expect(await gateway.hits(mark, 'submit')).toHaveLength(1);
    expect(await entriesOf(gateway.database, taskId)).toEqual({ hold: 1, settle: 1 });
  });

  together('after its task has ended changes nothing of the task, and the second run completes', async () => {
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
    expect(await entriesOf(gateway.database, taskId)).toEqual({ hold: 1, settle: 1 });
  });
});

describe('a worker that stands still for longer than its heartbeat', () => {
  it('and goes on after its job was given out again changes nothing: one submit, one charge', async () => {
    const { apiKey, taskId, mark } = await submitted('a fox [[latency=8000]]');
    await gateway.kill('worker-1', 'SIGSTOP');
    let other: string;
    try {
      const held = await fenceOf(taskId);
      ({ name: other } = await gateway.startWorker());
      // To whom, nobody can say: Temporal also hands work to the polls that the stopped one left open.
      await eventually(
        async () => {
          const { raw } = await workflow(taskId).describe();
          return (raw.pendingActivities?.[0]?.attempt ?? 0) >= 2 || (await fenceOf(taskId)) !== held;
        },
        { what: 'the second time that the job is given out' },
      );
    } finally {
      await gateway.kill('worker-1', 'SIGCONT');
    }
    const ended = await gateway.poll(apiKey, taskId);
    expect(ended).toMatchObject({ status: 'succeeded', attempts: 1, credits: { charged: 4, refunded: 0 } });
    // Who stood still is done with what it had in hand once it has done something new.
    await gateway.kill(other);
    const next = await accepted('a fox [[latency=200]]');
    expect(await gateway.poll(next.apiKey, next.taskId)).toMatchObject({ status: 'succeeded' });
    expect(await gateway.hits(mark, 'submit')).toHaveLength(1);
    expect(await attemptsOf(gateway.database, taskId)).toMatchObject([{ n: 1, outcome: 'ok' }]);
    expect(await entriesOf(gateway.database, taskId)).toEqual({ hold: 1, settle: 1 });
    expect(await gateway.poll(apiKey, taskId)).toMatchObject({ completed_at: ended.completed_at, attempts: 1 });
  });
});

describe('a worker that is killed while a job runs', () => {
  it('leaves it to another one, which goes on polling the same job', async () => {
    const { apiKey, taskId, mark } = await submitted('a fox [[latency=4000]]');
    // The only one that is left: who goes on is another.
    await gateway.kill('worker-1');
    await gateway.startWorker();
    const task = await gateway.poll(apiKey, taskId);
    expect(task).toMatchObject({ status: 'succeeded', attempts: 1, credits: { charged: 4 } });
    expect(await gateway.hits(mark, 'submit')).toHaveLength(1);
    expect(await entriesOf(gateway.database, taskId)).toEqual({ hold: 1, settle: 1 });
  });
});

/** As the Temporal UI does it: to the first workflow task that was completed. */
async function resetToStart(taskId: string): Promise<void> {
  const { connection, namespace } = gateway.temporal;
  const { events } = await workflow(taskId).fetchHistory();
  const first = events?.find((event) => event.workflowTaskCompletedEventAttributes);
  if (!first) throw new Error(`the workflow of ${taskId} has not begun`);
  await connection.workflowService.resetWorkflowExecution({
    namespace,
    workflowExecution: { workflowId: taskId, runId: (await workflow(taskId).describe()).runId },
    workflowTaskFinishEventId: first.eventId ?? null,
    requestId: randomUUID(),
    reason: 'a test',
  });
}

const workflow = (taskId: string, runId?: string) => gateway.temporal.client.workflow.getHandle(taskId, runId);

/** Who holds the only attempt of a task: each holder has a fence of its own. */
async function fenceOf(taskId: string): Promise<string | undefined> {
  const [row] = await gateway.database.query<{ fence: string }>(
    { name: '', text: 'select fence from attempt where request_id = $1' },
    [taskId],
  );
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

/** A task whose job the upstream has taken, and whose attempt row knows it. */
async function submitted(prompt: string) {
  const { apiKey, projectId, taskId, mark } = await accepted(prompt);
  const isPolled = async (): Promise<Task | false> =>
    (await gateway.hits(mark, 'poll')).length > 0 && gateway.poll(apiKey, taskId, { until: () => true });
  const task = await eventually(isPolled, { what: 'the first poll of the job' });
  expect(task.status).toBe('processing');
  return { apiKey, projectId, taskId, mark };
}
