import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { WorkflowNotFoundError } from '@temporalio/client';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSealer } from '../../../../src/platform/crypto/seal.ts';
import { mediaRoutes, type Answer, type Task } from '../../../support/api-client.ts';
import { eventually } from '../../../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../../../support/gateway.ts';
import { accountOf, attemptsOf, entriesOf } from '../../../support/rows.ts';
import { sideBySide } from '../../../support/side-by-side.ts';
import { untilCalled } from '../../../support/until-called.ts';
import { chat, verdictOf } from '../../chat/chats.ts';
import { startHoldingUpstream, type HoldingUpstream } from '../holding-upstream.ts';

let gateway: Gateway;
let upstream: HoldingUpstream;
let project: TestProject;
/** How long a cancel waits for a submit in flight that stays unanswered. */
const cancelWaitSeconds = 6;
beforeAll(async () => {
  gateway = await startGateway({
    temporalClient: true,
    env: { CANCEL_WAIT_SECONDS: String(cancelWaitSeconds) },
  });
  upstream = await startHoldingUpstream(gateway.sandboxUrl);
  project = await gateway.project({ credits: 10_000 });
  await sql(`update channel set enabled = (${usedFamilies}), base_url = replace(base_url, $1, $2)`, [
    gateway.sandboxUrl,
    upstream.url,
  ]);
  await untilCalled(gateway, () => upstream.calls() > 0);
});
afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});
afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

/** These tests change only their own tasks, so they run side by side. */
describe('a cancel request', () => {
  const together = sideBySide();

  together('for a job in the queue of the upstream is granted, and the upstream gets one cancel call', async () => {
    const { taskId, mark } = await submitted('a fox [[fail=never]]');
    expectCanceled(await cancel(taskId));
    await workflowClosed(taskId);
    expect(await gateway.hits(mark, 'cancel')).toHaveLength(1);
    expect(await gateway.hits(mark, 'submit')).toHaveLength(1);
    await eventually(async () => (await attemptsOf(gateway.database, taskId))[0]?.outcome === 'canceled');
    await expectStays(taskId, 'canceled');
  });

  together('for a running job is refused with 409, and the task succeeds and is charged', async () => {
    const { taskId, mark } = await running('a fox');
    expectRefused(await cancel(taskId));
    const task = await gateway.poll(project.apiKey, taskId);
    expect(task).toMatchObject({ status: 'succeeded', credits: { charged: 4, refunded: 0 }, error: null });
    expect(await gateway.hits(mark, 'cancel')).toEqual([]);
    expect(await gateway.hits(mark, 'submit')).toHaveLength(1);
    await expectStays(taskId, 'succeeded');
  });

  together('that was refused prevents further attempts: a job that fails later ends the task as canceled', async () => {
    const { taskId, mark } = await running('a fox [[fail=late_fail]]');
    expectRefused(await cancel(taskId));
    const task = await gateway.poll(project.apiKey, taskId);
    expect(task).toMatchObject({ status: 'canceled', attempts: 1, credits: { charged: 0, refunded: 4 } });
    expect(await gateway.hits(mark, 'submit')).toHaveLength(1);
    await expectStays(taskId, 'canceled');
  });

  together(
    'for a canceled task returns the same answer again, without a second cancel call to the upstream',
    async () => {
      const { taskId, mark } = await submitted('a fox [[fail=never]]');
      const first = await cancel(taskId);
      const second = await cancel(taskId);
      expectCanceled(first);
      expect(second).toMatchObject({ status: 200, body: first.body });
      await workflowClosed(taskId);
      expect(await gateway.hits(mark, 'cancel')).toHaveLength(1);
      await expectStays(taskId, 'canceled');
    },
  );

  together('after a refused one is refused immediately, without a cancel call to the upstream', async () => {
    const { taskId, mark } = await running('a fox');
    expectRefused(await cancel(taskId));
    expectRefused(await cancel(taskId));
    expect(await gateway.hits(mark, 'cancel')).toEqual([]);
    expect(await gateway.poll(project.apiKey, taskId)).toMatchObject({ status: 'succeeded' });
  });

  together('is still decided after an earlier cancel whose API server was killed', async () => {
    const { taskId, mark } = await submitted('a fox [[fail=never]]');
    await abandonCancel(taskId);
    expectCanceled(await cancel(taskId));
    expect(await gateway.hits(mark, 'cancel')).toHaveLength(1);
    await expectStays(taskId, 'canceled');
  });

  for (const [how, begin, status, stops] of [
    ['waits in the queue', () => submitted('a fox [[fail=never]]'), 'canceled', 1],
    ['is running', () => running('a fox'), 'succeeded', 0],
  ] as const) {
    together(`for a job that ${how} is decided by the sweep if its API server was killed`, async () => {
      const { taskId, mark } = await begin();
      await abandonCancel(taskId);
      expect(await gateway.poll(project.apiKey, taskId)).toMatchObject({ status, attempts: 1 });
      expect(await gateway.hits(mark, 'cancel')).toHaveLength(stops);
      expect(await gateway.hits(mark, 'submit')).toHaveLength(1);
      await expectStays(taskId, status);
    });
  }

  for (const status of ['succeeded', 'failed']) {
    together(`for a task that has ${status} returns 409 and does not change the task`, async () => {
      const { taskId } = await create(status === 'failed' ? 'a fox [[fail=refused]]' : 'a fox');
      const before = await gateway.poll(project.apiKey, taskId);
      expect(before.status).toBe(status);
      expectRefused(await cancel(taskId));
      expect(await gateway.poll(project.apiKey, taskId)).toEqual(before);
    });
  }

  together("for another project's task returns the same 404 as for an unknown task, and changes nothing", async () => {
    const { taskId } = await submitted('a fox [[latency=1500]]');
    const otherProject = await gateway.project();
    const foreign = await cancel(taskId, otherProject.apiKey);
    const unknown = await cancel('task_0000000000000000000000', otherProject.apiKey);
    expect(foreign).toMatchObject({ status: 404, body: { error: { code: 'task_not_found' } } });
    expect(foreign.body).toEqual(unknown.body);
    expect(await gateway.poll(project.apiKey, taskId)).toMatchObject({ status: 'succeeded' });
  });
});

describe('a cancel', () => {
  it('before the submit is granted and refunded, and the upstream never gets a call for the task', async () => {
    await gateway.kill('worker-1', 'SIGTERM');
    const { taskId, mark } = await create('a fox');
    const answer = await cancel(taskId);
    expectCanceled(answer);
    await gateway.startWorker();
    await workflowClosed(taskId);
    expect(await gateway.hits(mark)).toEqual([]);
    expect(await attemptsOf(gateway.database, taskId)).toEqual([]);
    await expectStays(taskId, 'canceled');
  });

  it('leaves a running job alone if the provider would stop and bill it, and the result is delivered', async () => {
    await drawOnly('replicate');
    try {
      // The provider answers the create call only after five seconds, when the job is already running.
      const { taskId, mark } = await submitted('a fox [[latency=9900]]', { model: twoFamilies });
      expectRefused(await cancel(taskId));
      const task = await gateway.poll(project.apiKey, taskId);
      expect(task).toMatchObject({ status: 'succeeded', attempts: 1, credits: { refunded: 0 } });
      expect(await gateway.hits(mark, 'submit')).toMatchObject([{ family: 'replicate' }]);
      expect(await gateway.hits(mark, 'cancel')).toEqual([]);
      await expectStays(taskId, 'succeeded');
    } finally {
      await drawOnly('fal');
    }
  });

  it("is refused with 409 if the channel's credential cannot be decrypted, and the task succeeds and is charged", async () => {
    const { taskId, mark } = await submitted('a fox [[latency=10000]]');
    const kept = await sql<{ id: string; credential: string }>('select id, credential from channel');
    const foreign = createSealer([{ id: 'm9', secret: Buffer.alloc(32, 9) }]);
    await sql('update channel set credential = $1', [foreign.seal('key', 'channel|credential|chn_elsewhere')]);
    try {
      await eventually(async () => verdictOf(await chat(gateway, project.apiKey, 'hello')) !== '200', {
        what: 'the change in the API server',
      });
      expectRefused(await cancel(taskId));
    } finally {
      for (const { id, credential } of kept) {
        await sql('update channel set credential = $2 where id = $1', [id, credential]);
      }
    }
    await eventually(async () => verdictOf(await chat(gateway, project.apiKey, 'hello')) === '200', {
      what: 'the repair in the API server',
    });
    expect(await gateway.poll(project.apiKey, taskId)).toMatchObject({ status: 'succeeded', credits: { charged: 4 } });
    expect(await gateway.hits(mark, 'cancel')).toEqual([]);
    await expectStays(taskId, 'succeeded');
  });

  it('waits for the answer of a submit in flight and stops its job', async () => {
    // Longer than a machine may stand still.
    const { baseUrl } = await gateway.startApi({ CANCEL_WAIT_SECONDS: '30' });
    const { taskId, mark, answer } = await heldSubmit('a fox [[fail=never]]');
    const canceling = cancel(taskId, project.apiKey, baseUrl);
    await eventually(
      async () =>
        (await sql(`select 1 from task where id = $1 and cancel_requested_at is not null`, [taskId])).length > 0,
    );
    answer();
    expectCanceled(await canceling);
    await workflowClosed(taskId);
    expect(await gateway.hits(mark, 'submit')).toHaveLength(1);
    expect(await gateway.hits(mark, 'cancel')).toHaveLength(1);
    await expectStays(taskId, 'canceled');
  });

  it('is refused with 409 while the submit stays unanswered, and the task succeeds and is charged', async () => {
    const { taskId, mark, answer } = await heldSubmit('a fox');
    expectRefused(await cancel(taskId));
    answer();
    expect(await gateway.poll(project.apiKey, taskId)).toMatchObject({ status: 'succeeded', credits: { charged: 4 } });
    expect(await gateway.hits(mark, 'submit')).toHaveLength(1);
    await expectStays(taskId, 'succeeded');
  });

  it('between two channels prevents a further attempt', async () => {
    const { taskId, mark } = await create('a fox [[fail=transient]]');
    const answer = await cancel(taskId);
    const task = await gateway.poll(project.apiKey, taskId);
    expect(task.status).toBe(answer.status === 200 ? 'canceled' : 'failed');
    await workflowClosed(taskId);
    const submits = (await gateway.hits(mark, 'submit')).length;
    expect(submits).toBe((await attemptsOf(gateway.database, taskId)).length);
    expect(await entriesOf(gateway.database, taskId)).toEqual({ refund: 1 });
  });
});

describe('a second cancel', () => {
  it('at the same time gets the same answer as the first', async () => {
    const { taskId, mark } = await submitted('a fox [[fail=never]]');
    const answer = upstream.hold('PUT');
    const cancels = Promise.all(Array.from({ length: 5 }, () => cancel(taskId)));
    // Longer than a cancel waits for a submit, and much shorter than the ten seconds that it waits for the provider.
    await sleep(cancelWaitSeconds * 1_000 + 300);
    answer();
    const answers = await cancels;
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    await workflowClosed(taskId);
    expect(await gateway.hits(mark, 'submit')).toHaveLength(1);
    expect(await gateway.hits(mark, 'cancel')).toHaveLength(1);
    await expectStays(taskId, 'canceled');
  });
});

describe('a cancel whose API server died before deciding it', () => {
  it('ends the task as canceled if nothing was submitted', async () => {
    const worker = Object.keys(gateway.pids()).findLast((name) => name.startsWith('worker-'));
    await gateway.kill(worker ?? 'worker-1', 'SIGTERM');
    const { taskId, mark } = await create('a fox');
    await abandonCancel(taskId);
    await gateway.startWorker();
    expect(await gateway.poll(project.apiKey, taskId)).toMatchObject({ status: 'canceled', attempts: 0 });
    expect(await gateway.hits(mark)).toEqual([]);
    await expectStays(taskId, 'canceled');
  });
});

describe('a cancel that races with success', () => {
  it('gives each of 40 tasks one outcome and one settlement or refund, which match the answer', async () => {
    const { apiKey, projectId } = await gateway.project({ credits: 4 * races });
    // Adapts to the speed of the machine, so that both sides win: cancels later after a granted cancel, sooner after a refused one.
    let waitMs = 600;
    const results = await inLanes(16, races, async (index) => {
      const latencyMs = 100 + ((index * 37) % 400);
      const { taskId, mark } = await create(`a fox [[latency=${latencyMs}]]`, apiKey);
      await sleep(waitMs * (0.6 + ((index * 53) % 80) / 100));
      const answer = await cancel(taskId, apiKey);
      waitMs = answer.status === 200 ? waitMs * 1.2 + 20 : waitMs / 1.3;
      return { taskId, mark, answer };
    });
    const counts = { canceled: 0, succeeded: 0 };
    await inLanes(16, races, async (index) => {
      const { taskId, mark, answer } = results[index]!;
      const task = await gateway.poll(apiKey, taskId);
      const granted = answer.status === 200;
      expect([taskId, task.status]).toEqual([taskId, granted ? 'canceled' : 'succeeded']);
      if (!granted) expectRefused(answer);
      expect([taskId, await entriesOf(gateway.database, taskId)]).toEqual([
        taskId,
        { [granted ? 'refund' : 'settle']: 1 },
      ]);
      counts[granted ? 'canceled' : 'succeeded'] += 1;
      // A granted cancel must not belong to a task whose result was delivered.
      const outcomes = (await attemptsOf(gateway.database, taskId)).map(({ outcome }) => outcome);
      if (granted) expect([taskId, outcomes]).not.toEqual([taskId, ['ok']]);
      expect((await gateway.hits(mark, 'cancel')).length).toBeLessThanOrEqual(1);
      expect((await gateway.hits(mark, 'submit')).length).toBeLessThanOrEqual(1);
    });
    expect(await accountOf(gateway.database, projectId)).toEqual({ balance: 4 * counts.canceled, reserved: 0 });
    // If only one side ever wins, this test has not tested a race.
    expect(Math.min(counts.canceled, counts.succeeded)).toBeGreaterThan(5);
  });
});

/** The latencies and waits below repeat after 400 races at the earliest, so each of these races meets another instant. */
const races = 40;

/** Of media tasks, and of the chats that show what the API server knows of its channels. */
const usedFamilies = `adapter in ('fal', 'openai')`;
/** A model of `fal` and `replicate`. */
const twoFamilies = 'flux-1.1-pro';

const sql = <Row extends Record<string, unknown>>(text: string, values: unknown[] = []): Promise<Row[]> =>
  gateway.database.query<Row>('', text, values);

/** Records a cancel request as if an API server had done so a minute ago and died. */
const abandonCancel = (taskId: string) =>
  sql(`update task set cancel_requested_at = clock_timestamp() - interval '1 minute' where id = $1`, [taskId]);

async function create(
  prompt: string,
  apiKey = project.apiKey,
  model = 'aurora-image-1',
): Promise<{ taskId: string; mark: string }> {
  const mark = randomUUID();
  const taskId = await gateway.accept(apiKey, mediaRoutes.image, {
    model,
    prompt: `${prompt} ${mark}`,
  });
  return { taskId, mark };
}

/** A task whose job the upstream has accepted and the attempt row records. */
async function submitted(
  prompt: string,
  { model }: { model?: string } = {},
): Promise<{ taskId: string; mark: string }> {
  const created = await create(prompt, project.apiKey, model);
  await eventually(async () => (await gateway.hits(created.mark, 'poll')).length > 0, {
    what: 'the first poll of the job',
  });
  return created;
}

/**
 * A task whose job is in the second half of its latency, when the sandbox refuses to cancel the job, and has most of that half left. Where the
 * machine is too busy for that, the next job takes twice as long.
 */
async function running(prompt: string, latencyMs = 12_000): Promise<{ taskId: string; mark: string }> {
  const created = await submitted(`${prompt} [[latency=${latencyMs}]]`);
  const [submit] = await gateway.hits(created.mark, 'submit');
  const begunAt = Date.parse(submit?.at ?? '') + latencyMs / 2 + 200;
  await sleep(Math.max(0, begunAt - Date.now()));
  return Date.now() < begunAt + latencyMs / 8 ? created : running(prompt, latencyMs * 2);
}

/** A task whose submit the upstream has received and answers when `answer` is called. */
async function heldSubmit(prompt: string): Promise<{ taskId: string; mark: string; answer: () => void }> {
  const answer = upstream.hold('POST');
  const created = await create(prompt);
  await eventually(async () => (await gateway.hits(created.mark, 'submit')).length > 0, { what: 'the submit' });
  return { ...created, answer };
}

/** Disables the media channels of all other families, and waits until the worker draws none of them. */
async function drawOnly(family: 'fal' | 'replicate'): Promise<void> {
  await sql(`update channel set enabled = (adapter = $1) where adapter in ('fal', 'replicate')`, [family]);
  await eventually(async () => {
    const { taskId, mark } = await create('a fox [[latency=0]]', project.apiKey, twoFamilies);
    await gateway.poll(project.apiKey, taskId);
    return (await gateway.hits(mark, 'submit')).every((hit) => hit.family === family);
  });
}

const cancel = (taskId: string, apiKey = project.apiKey, baseUrl = gateway.baseUrl): Promise<Answer> =>
  gateway.create(apiKey, `/api/v1/tasks/${taskId}/cancel`, '', { baseUrl });

function expectCanceled({ status, body }: Answer): void {
  expect({ status, body }).toMatchObject({
    status: 200,
    body: { status: 'canceled', output: null, error: { code: 'canceled' }, credits: { charged: 0, refunded: 4 } },
  });
}

const expectRefused = ({ status, body }: Answer): void =>
  expect({ status, body }).toMatchObject({ status: 409, body: { error: { code: 'task_not_cancelable' } } });

/** The task has this final status, and its credits moved once. */
async function expectStays(taskId: string, status: Task['status']): Promise<void> {
  const before = await gateway.poll(project.apiKey, taskId);
  expect(before.status).toBe(status);
  expect(await entriesOf(gateway.database, taskId)).toEqual({ [status === 'succeeded' ? 'settle' : 'refund']: 1 });
}

/** Waits for the end of the workflow. A workflow that Temporal never started, because the task ended first, counts as ended. */
const workflowClosed = (taskId: string) =>
  eventually(
    () =>
      gateway.temporal.client.workflow
        .getHandle(taskId)
        .describe()
        .then(
          ({ status }) => status.name !== 'RUNNING',
          (error: unknown) => {
            if (error instanceof WorkflowNotFoundError) return true;
            throw error;
          },
        ),
    { secondsMax: 150, what: `the end of workflow ${taskId}` },
  );

/** Runs `work` `count` times, in `lanes` concurrent lanes. */
async function inLanes<T>(lanes: number, count: number, work: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < count) results.push(await work(next++));
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return results;
}
