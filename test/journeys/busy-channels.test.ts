import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { mediaRoutes, type Task } from '../support/api-client.ts';
import { startBusyUpstream, type BusyAnswer, type BusyUpstream } from '../support/busy-upstream.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { entriesOf } from '../support/rows.ts';
import { z } from 'zod';

let gateway: Gateway;
let upstream: BusyUpstream;
let project: TestProject;

beforeAll(async () => {
  gateway = await startGateway({ env: { RATE_LIMIT_REST_SECONDS: '1' } });
  upstream = await startBusyUpstream(gateway.sandboxUrl);
  // One channel of each family, so that no other can take what it refuses.
  await gateway.database.query(
    'test-one-each',
    `update channel set base_url = replace(base_url, $1, $2), enabled = base_url like '%/sandbox-a/%'`,
    [gateway.sandboxUrl, upstream.url],
  );
});
/** A task whose provider is always too busy. It begins first, because its end takes most of its deadline, a fifth of which must be longer than a machine may stand still. */
let late: { taskId: string; mark: string; project: TestProject };
beforeAll(async () => {
  project = await gateway.project({ credits: 100 });
  refuse(null);
  late = { ...(await create('grok-imagine-video', tooLate, { deadline_seconds: 60 })), project };
});
afterAll(async () => {
  await gateway?.stop();
  await upstream?.close();
});
beforeEach(async () => {
  project = await gateway.project({ credits: 10_000 });
  refuse(null);
  upstream.submits.length = 0;
  await gateway.database.query('test-all-available', 'delete from channel_health');
});
afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

const error = { code: 1303, message: 'parallel task over resource pack limit', detail: 'busy', error: 'busy' };
const busy: BusyAnswer = { status: 429, headers: { 'retry-after': '1' }, body: error };
const tooLate = 'too late';
/** The model that only a channel of the family fal makes. */
const falModel = 'aurora-image-1';

describe('50 tasks whose only channel is too busy', () => {
  it('all succeed once it takes them, each submitted once, while the worker serves another model', async () => {
    refuse(busy, ({ path }) => path.includes('/fal/'));
    const waiting = await Promise.all(Array.from({ length: 50 }, (_, n) => create(falModel, `crowd ${n}`)));
    await eventually(() => Promise.resolve(refusals() >= 5));
    // The other model is made by the channel of another family, by the same worker.
    const others = await Promise.all(Array.from({ length: 10 }, (_, n) => create('gpt-image-2.5', `other ${n}`)));
    const ended = await endsOf(others);
    expect(ended.map(({ status, attempts }) => [status, attempts])).toEqual(others.map(() => ['succeeded', 1]));
    expect(await countRunning(waiting)).toBe(50);

    refuse(null);
    const tasks = await endsOf(waiting);
    expect(tasks.map(({ status, credits: { charged } }) => [status, charged])).toEqual(
      waiting.map(() => ['succeeded', 4]),
    );
    const accepted = waiting.map(({ mark }) => taken(mark));
    expect(accepted).toEqual(waiting.map(() => 1));
    for (const { taskId } of waiting) expect(await entriesOf(gateway.database, taskId)).toEqual({ settle: 1 });
  });
});

describe('a task that waits for its busy channel', () => {
  it('shows each attempt', async () => {
    let left = 3;
    refuse(busy, () => left-- > 0);
    const { taskId } = await create(falModel, 'three times');
    expect(await gateway.poll(project.apiKey, taskId)).toMatchObject({ status: 'succeeded', attempts: 4 });
    const refused = { outcome: 'transient', error: 'rate_limit', status: 429 };
    expect(await attemptsOf(taskId)).toMatchObject([refused, refused, refused, { outcome: 'ok', error: null }]);
  });

  it('is canceled at once, and nothing is submitted after that', async () => {
    refuse(busy);
    const { taskId, mark } = await create(falModel, 'canceled');
    await eventually(async () => (await attemptsOf(taskId)).length > 0);
    const answer = await gateway.create(project.apiKey, `/api/v1/tasks/${taskId}/cancel`, '');
    expect(answer).toMatchObject({ status: 200, body: { status: 'canceled' } });
    refuse(null);
    // A task that begins now is made after any that still waits.
    await gateway.poll(project.apiKey, (await create(falModel, 'after it')).taskId);
    expect(taken(mark)).toBe(0);
    expect(await entriesOf(gateway.database, taskId)).toEqual({ refund: 1 });
  });

  it('goes to the channel that comes back, not to one whose job has failed', async () => {
    await gateway.database.query('test-second', `update channel set enabled = true where name = 'sandbox-b'`);
    try {
      // The worker caches the channels.
      await eventually(async () => {
        await gateway.poll(project.apiKey, (await create(falModel, 'known')).taskId);
        return upstream.submits.some(({ path }) => path.includes('/sandbox-b/'));
      });
      let left = 2;
      refuse(busy, ({ path }) => path.includes('/sandbox-b/') && left-- > 0);
      const { taskId } = await create(falModel, 'a fox [[fail=late_fail on=sandbox-a latency=50]]');
      expect(await gateway.poll(project.apiKey, taskId)).toMatchObject({
        status: 'succeeded',
        credits: { charged: 4 },
      });
      const outcomes = (await attemptsOf(taskId)).map(({ error }) => error);
      expect(outcomes.filter((one) => one === 'job_failed')).toHaveLength(1);
      expect(outcomes.filter((one) => one === 'rate_limit')).toHaveLength(2);
    } finally {
      await gateway.database.query('test-first', `update channel set enabled = false where name = 'sandbox-b'`);
    }
  });
});

/** One model of each family. */
const models = {
  openai: 'gpt-image-2.5',
  gemini: 'nano-banana-2',
  replicate: 'flux-2-pro',
  seedance: 'seedance-2',
  kling: 'kling-3',
  xai: 'grok-imagine-image',
  dashscope: 'wan-3',
  minimax: 'hailuo-3',
  runway: 'runway-gen-4-image',
  tollgate: 'wan-2.5',
};
const answers: [string, BusyAnswer][] = [
  ['429 with Retry-After', busy],
  ['429 without Retry-After', { status: 429, body: error }],
  ['503', { status: 503, body: error }],
  ['529', { status: 529, body: error }],
];

describe('a task of each family whose only channel is too busy once', () => {
  it.each(answers)('succeeds at the second attempt: %s', async (_name, answer) => {
    const onlyFal = Object.entries({ fal: falModel });
    await expectSecondAttempts(onlyFal, answer);
    await gateway.database.query('test-no-fal', `update channel set enabled = false where adapter = 'fal'`);
    try {
      await expectSecondAttempts(Object.entries(models), answer);
    } finally {
      await gateway.database.query('test-fal', `update channel set enabled = true where name = 'sandbox-a'`);
    }
  });

  async function expectSecondAttempts(models: [string, string][], answer: BusyAnswer): Promise<void> {
    const refused = new Set<string>();
    refuse(answer, ({ path }) => {
      const [, , family = ''] = path.split('/');
      return !refused.has(family) && Boolean(refused.add(family));
    });
    const tasks = await Promise.all(
      models.map(async ([, model]) => {
        const { taskId } = await create(model, `a fox of ${model}`);
        return gateway.poll(project.apiKey, taskId);
      }),
    );
    const facts = tasks.map(({ model, status, attempts }) => ({ model, status, attempts }));
    expect(facts).toEqual(models.map(([, model]) => ({ model, status: 'succeeded', attempts: 2 })));
  }
});

// Before the provider goes away, because a submit whose connection breaks has an unknown outcome.
describe('a task whose channel stays too busy', () => {
  it('ends as no_channel_available, with a refund, when a fifth of its time is left', async () => {
    const task = await gateway.poll(late.project.apiKey, late.taskId);
    expect(task).toMatchObject({ status: 'failed', error: { code: 'no_channel_available', retryable: true } });
    expect(task.attempts).toBeGreaterThan(1);
    expect(taken(late.mark)).toBe(0);
    expect(await entriesOf(gateway.database, late.taskId)).toEqual({ refund: 1 });
  });
});

describe('a task of each family whose only channel cannot be reached', () => {
  it('waits while the provider is away, succeeds after its return, and is bought once', async () => {
    await expectSuccessAfterReturn([falModel]);
    await gateway.database.query('test-no-fal', `update channel set enabled = false where adapter = 'fal'`);
    try {
      await expectSuccessAfterReturn(Object.values(models));
    } finally {
      await gateway.database.query('test-fal', `update channel set enabled = true where name = 'sandbox-a'`);
    }
  });

  it('makes few calls while it waits, and is canceled at once', async () => {
    await upstream.leave();
    const begunAt = performance.now();
    const { taskId, mark } = await create(falModel, 'away and canceled');
    const attempts = await eventually(async () => {
      const all = await attemptsOf(taskId);
      return all.filter(({ outcome }) => outcome !== null).length > 1 && all;
    });
    const seconds = (performance.now() - begunAt) / 1_000;
    expect(attempts.length).toBeLessThanOrEqual(2 + seconds);
    for (const attempt of attempts.slice(0, 2))
      expect(attempt).toMatchObject({ outcome: 'transient', error: 'connect', status: null });
    const answer = await gateway.create(project.apiKey, `/api/v1/tasks/${taskId}/cancel`, '');
    await upstream.comeBack();
    expect(answer).toMatchObject({ status: 200, body: { status: 'canceled' } });
    await gateway.poll(project.apiKey, (await create(falModel, 'after the return')).taskId);
    expect(taken(mark)).toBe(0);
    expect(await entriesOf(gateway.database, taskId)).toEqual({ refund: 1 });
  });

  async function expectSuccessAfterReturn(models: string[]): Promise<void> {
    await upstream.leave();
    const waiting = await Promise.all(models.map((model) => create(model, `away ${model}`)));
    await Promise.all(waiting.map(({ taskId }) => eventually(async () => (await attemptsOf(taskId)).length > 0)));
    expect(await countRunning(waiting)).toBe(models.length);
    await upstream.comeBack();
    const ended = await endsOf(waiting);
    expect(ended.map(({ model, status }) => [model, status])).toEqual(models.map((model) => [model, 'succeeded']));
    expect(waiting.map(({ mark }) => taken(mark))).toEqual(models.map(() => 1));
    for (const { taskId } of waiting) expect(await entriesOf(gateway.database, taskId)).toEqual({ settle: 1 });
  }
});

/** Refuses submits from now on: those for which `when` is true, and always those of the task that is too late, which must see no failure. */
const refuse = (
  answer: BusyAnswer | null,
  when: (submit: { path: string; body: string }) => boolean = () => true,
): void =>
  upstream.refuse(answer ?? busy, (submit) => (submit.body.includes(tooLate) ? busy : answer !== null && when(submit)));

/** Submits that the channel of the family fal refused. */
const refusals = (): number => upstream.submits.filter(({ refused, path }) => refused && path.includes('/fal/')).length;
/** Submits of the task with this mark that the provider accepted. */
const taken = (mark: string): number =>
  upstream.submits.filter(({ refused, body }) => !refused && body.includes(mark)).length;

async function create(
  model: string,
  text: string,
  fields: Record<string, unknown> = {},
): Promise<{ taskId: string; mark: string }> {
  const mark = `${text} ${randomUUID()}`;
  const [row] = await gateway.database.query<{ type: Task['type'] }>(
    'test-type',
    `select entry ->> 'type' as type from model where id = $1`,
    [model],
  );
  const route = mediaRoutes[row?.type ?? 'image'];
  // An API server knows a channel that was enabled after two seconds. The key makes a repeated create return the same task.
  const headers = { 'idempotency-key': mark };
  const taskId = await eventually(async () => {
    const sent = gateway.create(project.apiKey, route, { model, prompt: mark, ...fields }, { headers });
    const answer = await sent.catch(() => null);
    return answer?.status === 202 && Created.parse(answer.body).task_id;
  });
  return { taskId: taskId || '', mark };
}
const Created = z.object({ task_id: z.string() });

async function attemptsOf(taskId: string): Promise<{ outcome: string | null; error: string | null }[]> {
  const { body } = await gateway.get(project.apiKey, `/api/v1/tasks/${taskId}/attempts`);
  return Attempts.parse(body).data;
}
const Attempts = z.object({
  data: z.array(
    z.object({ outcome: z.string().nullable(), error: z.string().nullable(), status: z.number().nullable() }),
  ),
});

/** One after another, because each poll may be held by the API server. */
const endsOf = (tasks: { taskId: string }[]): Promise<Task[]> =>
  Array.fromAsync(tasks, ({ taskId }) => gateway.poll(project.apiKey, taskId));

async function countRunning(tasks: { taskId: string }[]): Promise<number> {
  const [row] = await gateway.database.query<{ running: number }>(
    'test-running',
    'select count(*)::int as running from task where id = any ($1) and completed_at is null',
    [tasks.map(({ taskId }) => taskId)],
  );
  return row?.running ?? 0;
}
