import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { WorkflowNotFoundError } from '@temporalio/client';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSealer } from '../../../src/platform/crypto/seal.ts';
import { mediaRoutes, type Answer, type Task } from '../../support/api-client.ts';
import { eventually } from '../../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../../support/gateway.ts';
import { accountOf, attemptsOf, entriesOf } from '../../support/rows.ts';
import { sideBySide } from '../../support/side-by-side.ts';
import { startHoldingUpstream, type HoldingUpstream } from './holding-upstream.ts';

let gateway: Gateway;
let upstream: HoldingUpstream;
let project: TestProject;
let directUrls: { id: string; baseUrl: string }[];
beforeAll(async () => {
  gateway = await startGateway({ temporalClient: true, env: { CANCEL_WAIT_SECONDS: '2' } });
  upstream = await startHoldingUpstream(gateway.sandboxUrl);
  project = await gateway.project({ credits: 10_000 });
  await sql(`update channel set enabled = (adapter = 'fal')`);
  directUrls = await sql<{ id: string; baseUrl: string }>('select id, base_url from channel');
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
    const { taskId, mark } = await submitted('a fox [[latency=4000]]');
    // The sandbox refuses to cancel a job in the second half of its latency.
    const [submit] = await gateway.hits(mark, 'submit');
    await sleep(Math.max(0, Date.parse(submit?.at ?? '') + 2_200 - Date.now()));
    expectRefused(await cancel(taskId));
    const task = await gateway.poll(project.apiKey, taskId);
    expect(task).toMatchObject({ status: 'succeeded', credits: { charged: 4, refunded: 0 }, error: null });
    expect(await gateway.hits(mark, 'cancel')).toEqual([]);
    expect(await gateway.hits(mark, 'submit')).toHaveLength(1);
    await expectStays(taskId, 'succeeded');
  });

  together('that was refused prevents further attempts: a job that fails later ends the task as canceled', async () => {
    const { taskId, mark } = await submitted('a fox [[latency=4000 fail=late_fail]]');
    const [submit] = await gateway.hits(mark, 'submit');
    await sleep(Math.max(0, Date.parse(submit?.at ?? '') + 2_200 - Date.now()));
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
    const { taskId, mark } = await submitted('a fox [[latency=5000]]');
    const [submit] = await gateway.hits(mark, 'submit');
    await sleep(Math.max(0, Date.parse(submit?.at ?? '') + 2_700 - Date.now()));
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

  for (const [how, prompt, status, stops] of [
    ['waits in the queue', 'a fox [[fail=never]]', 'canceled', 1],
    ['is running', 'a fox [[latency=4000]]', 'succeeded', 0],
  ] as const) {
    together(`for a job that ${how} is decided by the sweep if its API server was killed`, async () => {
      const { taskId, mark } = await submitted(prompt);
      const [submit] = await gateway.hits(mark, 'submit');
      if (status === 'succeeded') await sleep(Math.max(0, Date.parse(submit?.at ?? '') + 2_200 - Date.now()));
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
    await sql(`update channel set enabled = (adapter = 'replicate')`);
    try {
      // The provider answers the create call only after five seconds, when the job is already running.
      const { taskId, mark } = await submitted('a fox [[latency=8500]]', { model: 'flux-1.1-pro' });
      expectRefused(await cancel(taskId));
      const task = await gateway.poll(project.apiKey, taskId);
      expect(task).toMatchObject({ status: 'succeeded', attempts: 1, credits: { refunded: 0 } });
      expect(await gateway.hits(mark, 'submit')).toMatchObject([{ family: 'replicate' }]);
      expect(await gateway.hits(mark, 'cancel')).toEqual([]);
      await expectStays(taskId, 'succeeded');
    } finally {
      await sql(`update channel set enabled = (adapter = 'fal')`);
    }
  });

  it("is refused with 409 if the channel's credential cannot be decrypted, and the task succeeds and is charged", async () => {
    const { taskId, mark } = await submitted('a fox [[latency=4000]]');
    const kept = await sql<{ id: string; credential: string }>('select id, credential from channel');
    const foreign = createSealer([{ id: 'm9', secret: Buffer.alloc(32, 9) }]);
    await sql('update channel set credential = $1', [foreign.seal('key', 'channel|credential|chn_elsewhere')]);
    try {
      // Until the API server has received the notification about the change.
      await sleep(500);
      expectRefused(await cancel(taskId));
    } finally {
      for (const { id, credential } of kept) {
        await sql('update channel set credential = $2 where id = $1', [id, credential]);
      }
    }
    expect(await gateway.poll(project.apiKey, taskId)).toMatchObject({ status: 'succeeded', credits: { charged: 4 } });
    expect(await gateway.hits(mark, 'cancel')).toEqual([]);
    await expectStays(taskId, 'succeeded');
  });

  it('waits for the answer of a submit in flight and stops its job', async () => {
    const { taskId, mark } = await heldSubmit('a fox [[fail=never]]', 1_000);
    expectCanceled(await cancel(taskId));
    await workflowClosed(taskId);
    expect(await gateway.hits(mark, 'submit')).toHaveLength(1);
    expect(await gateway.hits(mark, 'cancel')).toHaveLength(1);
    await expectStays(taskId, 'canceled');
  });

  it('is refused with 409 while the submit stays unanswered, and the task succeeds and is charged', async () => {
    const { taskId, mark } = await heldSubmit('a fox', 4_000);
    expectRefused(await cancel(taskId));
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
    upstream.hold('POST', 0);
    // Longer than a cancel waits for a submit.
    upstream.hold('PUT', 3_000);
    await pointChannelsAt(upstream.url);
    const { taskId, mark } = await submitted('a fox [[fail=never]]');
    const answers = await Promise.all(Array.from({ length: 5 }, () => cancel(taskId)));
    await pointChannelsAt(gateway.sandboxUrl);
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
  it('gives each of 60 tasks one outcome and one settlement or refund, which match the answer', async () => {
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
const races = 60;

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

/** A task whose submit the upstream has received and answers after `heldMs`. */
async function heldSubmit(prompt: string, heldMs: number): Promise<{ taskId: string; mark: string }> {
  upstream.hold('POST', heldMs);
  await pointChannelsAt(upstream.url);
  try {
    const created = await create(prompt);
    await eventually(async () => (await gateway.hits(created.mark, 'submit')).length > 0, { what: 'the submit' });
    return created;
  } finally {
    await pointChannelsAt(gateway.sandboxUrl);
  }
}

/** Points every channel at the sandbox or at a proxy in front of it. */
async function pointChannelsAt(url: string): Promise<void> {
  for (const channel of directUrls) {
    await sql('update channel set base_url = $2 where id = $1', [
      channel.id,
      channel.baseUrl.replace(gateway.sandboxUrl, url),
    ]);
  }
  // Until the worker has received the notification about the change.
  await sleep(300);
}

const cancel = (taskId: string, apiKey = project.apiKey): Promise<Answer> =>
  gateway.create(apiKey, `/api/v1/tasks/${taskId}/cancel`, '');

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
    { what: `the end of workflow ${taskId}` },
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
