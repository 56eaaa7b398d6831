import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { mediaRoutes, type Task } from '../support/api-client.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { accountOf, attemptsOf, countRows, entriesOf } from '../support/rows.ts';
import { eventually } from '../support/eventually.ts';
import { spec } from '../spec/spec.ts';

let gateway: Gateway;
let project: TestProject;
beforeAll(async () => {
  gateway = await startGateway({
    temporalClient: true,
    env: {
      SUBMIT_TIMEOUT_SECONDS: '20',
      POLL_MISSING_GRACE_SECONDS: '0',
      POLL_MISSING_LOST_SECONDS: '1',
      VIDEO_DEADLINE_SECONDS: '25',
    },
  });
});
afterAll(() => gateway.stop());
beforeEach(async () => {
  project = await gateway.project({ credits: 100 });
  // With one provider family, three attempts go to sandbox-a, -b and -c. The health of earlier tests is reset below.
  await gateway.database.query('test-one-family', `update channel set enabled = (adapter = 'fal')`);
  await setWeights({ 'sandbox-a': 3, 'sandbox-b': 1, 'sandbox-c': 1 });
  await gateway.database.query('test-all-available', 'delete from channel_health');
});
afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

describe('a channel that fails', () => {
  it('is followed by the next channel until one succeeds, with three attempts and one charge', async () => {
    spec('7 transient errors');
    const task = await run('a fox [[fail=transient on=sandbox-a]] [[fail=transient on=sandbox-b]]');
    expect(task).toMatchObject({ status: 'succeeded', attempts: 3, credits: { charged: 4, refunded: 0 } });
    const attempts = await attemptsOf(gateway.database, task.task_id);
    expect(attempts.map(({ n, outcome }) => [n, outcome])).toEqual([
      [1, 'transient'],
      [2, 'transient'],
      [3, 'ok'],
    ]);
    expect(new Set(attempts.slice(0, 2).map(({ channelName: name }) => name))).toEqual(
      new Set(['sandbox-a', 'sandbox-b']),
    );
    expect(attempts[2]?.channelName).toBe('sandbox-c');
    expect(await entriesOf(gateway.database, task.task_id)).toEqual({ settle: 1 });
    expect(await account()).toEqual({ balance: 96, reserved: 0 });
  });

  it('is called once, and the task ends as upstream_failed without a charge if all channels fail', async () => {
    const task = await run('a fox [[fail=transient]]');
    expect(task).toMatchObject({ status: 'failed', attempts: 3, error: { code: 'upstream_failed', retryable: true } });
    expect((await gateway.hits(mark(task), 'submit')).map(({ channel }) => channel).sort()).toEqual([
      'sandbox-a',
      'sandbox-b',
      'sandbox-c',
    ]);
    await expectRefund(task);
  });

  it("is followed by the next channel if it refuses the gateway's account", async () => {
    const task = await run('a fox [[fail=auth on=sandbox-a]] [[fail=auth on=sandbox-b]]');
    expect(task).toMatchObject({ status: 'succeeded', attempts: 3, credits: { charged: 4 } });
  });

  it('cools down after a 429, so that the next task does not use it', async () => {
    await setWeights({ 'sandbox-b': 0 });
    const first = await run('a fox [[fail=rate_limit on=sandbox-a]]');
    expect(first).toMatchObject({ status: 'succeeded', attempts: 2 });
    const coolingDown = await gateway.database.query<{ name: string; reason: string }>(
      'test-cooling-down',
      `update channel_health h set unavailable_until = clock_timestamp() + interval '10 minutes'
       from channel c where c.id = h.channel_id and h.unavailable_until is not null returning c.name, h.reason`,
    );
    // The update above extends the cool-down to ten minutes, so that the next task still meets it.
    expect(coolingDown).toEqual([{ name: 'sandbox-a', reason: 'rate_limit' }]);
    const second = await run('another fox');
    expect(second).toMatchObject({ status: 'succeeded', attempts: 1 });
    expect((await gateway.hits(mark(second), 'submit')).map(({ channel }) => channel)).toEqual(['sandbox-c']);
  });

  it('is followed by the next channel if its job fails after it was accepted', async () => {
    await setWeights({ 'sandbox-b': 0 });
    const task = await run('a fox [[fail=late_fail on=sandbox-a latency=50]]');
    expect(task).toMatchObject({ status: 'succeeded', attempts: 2, credits: { charged: 4 } });
    const attempts = await attemptsOf(gateway.database, task.task_id);
    expect(attempts).toMatchObject([
      { channelName: 'sandbox-a', outcome: 'transient', errorClass: 'job_failed' },
      { channelName: 'sandbox-c', outcome: 'ok' },
    ]);
    expect(await entriesOf(gateway.database, task.task_id)).toEqual({ settle: 1 });
  });
});

describe('a request that the provider refuses', () => {
  it('is submitted once, ends as content_policy_violation and is refunded', async () => {
    const task = await run('a fox [[fail=refused]]');
    expect(task).toMatchObject({
      status: 'failed',
      attempts: 1,
      error: { code: 'content_policy_violation', retryable: false },
    });
    expect(await gateway.hits(mark(task), 'submit')).toHaveLength(1);
    await expectRefund(task);
  });

  it('ends the same way if the job completes without an output', async () => {
    const task = await run('a fox [[fail=no_output latency=50]]');
    expect(task).toMatchObject({ status: 'failed', attempts: 1, error: { code: 'content_policy_violation' } });
    expect(await gateway.hits(mark(task), 'submit')).toHaveLength(1);
    await expectRefund(task);
  });
});

describe('a submit with an unknown outcome', () => {
  it.each(['reset', 'malformed', 'empty', 'huge', 'hang'])(
    'is neither repeated nor charged, and is flagged for the operator: %s',
    async (kind) => {
      const task = await run(`a fox [[fail=${kind}]]`);
      expect(task).toMatchObject({
        status: 'failed',
        attempts: 1,
        error: { code: 'upstream_outcome_unknown' },
      });
      expect(await gateway.hits(mark(task), 'submit')).toHaveLength(1);
      expect(await isFlagged(task)).toBe(true);
      await expectRefund(task);
    },
  );

  it('has its own idempotency key at the upstream', async () => {
    const tasks = [await run('a fox'), await run('a fox [[fail=reset]]')];
    const keys = (await Promise.all(tasks.map((task) => gateway.hits(mark(task), 'submit')))).flat();
    expect(new Set(keys.map(({ idempotency_key: key }) => key)).size).toBe(2);
    expect(keys.every(({ idempotency_key: key }) => key !== null)).toBe(true);
  });
});

describe('an accepted job that never succeeds', () => {
  it('is refunded and flagged once the upstream has reported it as unknown for too long', async () => {
    const task = await run('a fox [[fail=lost]]');
    expect(task).toMatchObject({ status: 'failed', attempts: 1, error: { code: 'upstream_outcome_unknown' } });
    expect(await gateway.hits(mark(task), 'submit')).toHaveLength(1);
    expect(await isFlagged(task)).toBe(true);
    await expectRefund(task);
  });

  it('is refunded at its deadline as task_timeout and canceled at the upstream once', async () => {
    const task = await run('a dancer [[fail=never]]', { type: 'video', model: 'kling-2.5-turbo' });
    expect(task).toMatchObject({ status: 'failed', error: { code: 'task_timeout' } });
    await expectRefund(task);
    await eventually(async () => (await gateway.hits(mark(task), 'cancel')).length > 0, {
      what: 'the cancel upstream',
    });
    await workflowClosed(task.task_id);
    expect(await gateway.hits(mark(task), 'cancel')).toHaveLength(1);
    expect(await gateway.hits(mark(task), 'submit')).toHaveLength(1);
  });
});

describe('a model without an enabled channel', () => {
  it('gets 503 no_channel_available, and no row is written', async () => {
    await gateway.database.query('test-none-enabled', 'update channel set enabled = false');
    const body = { model: 'aurora-image-1', prompt: 'a fox' };
    // The API server caches the channels for up to two seconds.
    await eventually(async () => (await gateway.create(project.apiKey, mediaRoutes.image, body)).status === 503);
    const before = await countRows(gateway.database);
    const answer = await gateway.create(project.apiKey, mediaRoutes.image, body, {
      headers: { 'idempotency-key': randomUUID() },
    });
    expect(answer).toMatchObject({
      status: 503,
      body: { error: { code: 'no_channel_available', type: 'server_error' } },
    });
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    const after = await countRows(gateway.database);
    expect([after.task, after.hold, after.idempotency]).toEqual([before.task, before.hold, before.idempotency]);
  });
});

/** Creates a task with a unique prompt and polls until the task has ended. */
async function run(prompt: string, { type = 'image', model = 'aurora-image-1' }: RunOptions = {}): Promise<Task> {
  const body = { model, prompt: `${prompt} #${randomUUID()}` };
  return gateway.poll(project.apiKey, await gateway.accept(project.apiKey, mediaRoutes[type], body));
}

interface RunOptions {
  type?: 'image' | 'video';
  model?: string;
}

/** The unique part of the prompt. */
const mark = (task: Task): string => String(task.input?.['prompt']).split('#')[1] ?? 'no prompt';

async function expectRefund(task: Task): Promise<void> {
  const { quoted } = task.credits;
  expect(task).toMatchObject({ output: null, credits: { quoted, reserved: quoted, charged: 0, refunded: quoted } });
  expect(await entriesOf(gateway.database, task.task_id)).toEqual({ refund: 1 });
  expect(await account()).toEqual({ balance: 100, reserved: 0 });
}

const account = () => accountOf(gateway.database, project.projectId);

async function isFlagged(task: Task): Promise<boolean | undefined> {
  const [row] = await gateway.database.query<{ outcomeUnknown: boolean }>(
    'test-flagged',
    'select outcome_unknown from task where id = $1',
    [task.task_id],
  );
  return row?.outcomeUnknown;
}

async function setWeights(weights: Record<string, number>): Promise<void> {
  for (const [name, weight] of Object.entries(weights)) {
    await gateway.database.query('test-weight', 'update channel set weight = $2 where name = $1', [name, weight]);
  }
}

const workflowClosed = (taskId: string) =>
  eventually(
    async () => (await gateway.temporal.client.workflow.getHandle(taskId).describe()).status.name !== 'RUNNING',
    { what: `the end of workflow ${taskId}` },
  );
