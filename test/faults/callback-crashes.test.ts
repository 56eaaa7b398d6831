import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { WorkflowNotFoundError } from '@temporalio/client';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { taskQueues } from '../../src/domain/tasks/workflow-contract.ts';
import { deliverCallback } from '../../src/services/callbacks/deliver-callback.ts';
import { testConfig } from '../support/test-config.ts';
import { buildDeps } from '../../src/main/build-deps.ts';
import { mediaRoutes, type Task } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import {
  answer,
  inTurn,
  quickCallbacks,
  startReceiver,
  takeIt,
  verified,
  type Behaviour,
  type Receiver,
} from '../services/callbacks/receiver.ts';

let gateway: Gateway;
let receiver: Receiver;
let project: TestProject;
beforeAll(async () => {
  receiver = await startReceiver();
  // After its first try a callback waits 600 s, unless the test calls endWait.
  gateway = await startGateway({
    temporalClient: true,
    env: {
      ...quickCallbacks,
      CALLBACK_LADDER_SECONDS: '600,0.2,0.2,0.2,0.2,0.2,0.2',
      CALLBACK_TIMEOUT_SECONDS: '15',
      CALLBACK_LEASE_SECONDS: '20',
      SWEEP_INTERVAL_SECONDS: '0.4',
    },
  });
  project = await gateway.project({ credits: 10_000 });
});
afterAll(async () => {
  await gateway.stop();
  await receiver.close();
});
afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

/** The callbacks whose worker is killed during their call. */
let taken: Sent;
let hanging: Sent;

describe('a worker that is killed', () => {
  let claimed: Sent;
  let leaseEnds: number;
  beforeAll(async () => {
    claimed = await create(inTurn(answer(500), takeIt));
    await firstTryCounted(claimed);
    const called = { taken: Promise.withResolvers<void>(), hanging: Promise.withResolvers<void>() };
    const kill = async (): Promise<void> => {
      await Promise.all([called.taken.promise, called.hanging.promise]);
      leaseEnds = Date.now() + 4_000;
      await sql(
        `update delivery set next_attempt_at = clock_timestamp(), lease_token = 'killed', lease_until = clock_timestamp() + interval '4 s' where task_id = $1`,
        [claimed.taskId],
      );
      process.kill(gateway.pids()['worker-1'] ?? 0, 'SIGKILL');
    };
    const killed = kill();
    [taken, hanging] = await Promise.all([
      create(
        inTurn((response) => {
          called.taken.resolve();
          void killed.then(() => response.writeHead(204).end());
        }, takeIt),
      ),
      create(inTurn(() => called.hanging.resolve(), takeIt)),
    ]);
    await killed;
    await gateway.startWorker();
  });

  it('between the claim and the call of a callback delays the call until the lease expires', async () => {
    for (;;) {
      const calls = receiver.calls(claimed.name).length;
      // Count the calls before reading the clock, so that a call after the end of the lease is not counted.
      if (Date.now() >= leaseEnds) break;
      expect(calls).toBe(1);
      await sleep(100);
    }
    await expectDelivered(claimed, { calls: 2, attempts: 2 });
  });
});

/** Applies a change to a callback that waits for its second try. */
async function afterFirstTry(behaviour: Behaviour, change: (sent: Sent) => Promise<unknown>): Promise<Sent> {
  const sent = await create(behaviour);
  await firstTryCounted(sent);
  await change(sent);
  return sent;
}

describe('a callback whose workflow is gone', () => {
  let terminated: Sent;
  let lost: Sent;
  let exhausted: Sent;
  let untried: Sent;
  // The retries of each callback take long, so all callbacks run in parallel.
  beforeAll(async () => {
    const terminate = async (sent: Sent): Promise<void> => {
      await workflow(sent.taskId).terminate();
      await endWait([sent]);
    };
    const threeRefusals = () => inTurn(answer(500), answer(500), answer(500), takeIt);
    [terminated, lost, exhausted, untried] = await Promise.all([
      afterFirstTry(threeRefusals(), terminate),
      afterFirstTry(threeRefusals(), async (sent) => {
        await gateway.temporal.connection.workflowService.deleteWorkflowExecution({
          namespace: gateway.temporal.namespace,
          workflowExecution: { workflowId: sent.taskId },
        });
        await eventually(() => isForgotten(sent), { what: 'the end of the deletion' });
        await endWait([sent]);
      }),
      afterFirstTry(answer(500), terminate),
      endedBeforeItsTry(),
    ]);
  });

  /** Terminates the workflow before the task ends, so that no workflow delivers the callback. */
  async function endedBeforeItsTry(): Promise<Sent> {
    const sent = await create(takeIt, 'a fox [[latency=30000]]');
    await eventually(async () => (await gateway.hits(sent.name, 'poll')).length > 0);
    await workflow(sent.taskId).terminate();
    await sql(`update task set last_seen_at = clock_timestamp() - interval '1 hour' where id = $1`, [sent.taskId]);
    return sent;
  }

  it.each([
    ['terminated', () => terminated],
    ['deleted from Temporal', () => lost],
  ])('because it was %s is delivered by the sweep with the remaining tries', async (_how, sent) => {
    await expectDelivered(sent(), { calls: 4, attempts: 4 });
    const [row] = await sql<{ adopted: boolean }>(
      'select adopted_at is not null as adopted from delivery where task_id = $1',
      [sent().taskId],
    );
    expect(row?.adopted).toBe(true);
  });

  it('is exhausted by the sweep after eight tries in total', async () => {
    expect(await callbackOver(exhausted)).toMatchObject({
      status: 'succeeded',
      callback: { state: 'exhausted', attempts: 8, last_status: 500 },
    });
    expect(receiver.calls(exhausted.name)).toHaveLength(8);
  });

  it('before its first try is still delivered', async () => {
    await expectDelivered(untried, { calls: 1, attempts: 1 });
  });
});

describe('a callback that is due', () => {
  it('is sent once while its workflow and the sweeps of two workers compete for it', async () => {
    const slowly: Behaviour = (response) => void setTimeout(() => response.writeHead(204).end(), 1_000);
    const { name: second } = await gateway.startWorker();
    const tasks = await Promise.all(Array.from({ length: 12 }, () => create(inTurn(answer(500), slowly))));
    await Promise.all(tasks.map(firstTryCounted));
    // Half of them keep their workflow, which the sweep wakes up early because it is late. The sweep delivers the others.
    await Promise.all(tasks.slice(6).map(({ taskId }) => workflow(taskId).terminate()));
    await endWait(tasks);
    for (const sent of tasks) await expectDelivered(sent, { calls: 2, attempts: 2 });
    await gateway.kill(second);
  });

  it('is sent once by ten parallel calls of deliverCallback', async () => {
    const sent = await create(inTurn(answer(500), takeIt));
    await firstTryCounted(sent);
    await workflow(sent.taskId).terminate();
    const built = await buildDeps(testConfig({ ...gateway.env, LOG_LEVEL: 'silent' }), 'test');
    try {
      const [row] = await sql<{ id: string }>(
        `update delivery set next_attempt_at = clock_timestamp() where task_id = $1 returning id`,
        [sent.taskId],
      );
      const reports = await Promise.all(Array.from({ length: 10 }, () => deliverCallback(built.deps, row?.id ?? '')));
      expect(reports.filter(({ over }) => !over).every(({ waitMs }) => waitMs >= 0)).toBe(true);
    } finally {
      await built.close();
    }
    await expectDelivered(sent, { calls: 2, attempts: 2 });
  });
});

describe('a callback whose worker is killed in the middle of its call', () => {
  it('is sent again under the same id if the receiver accepted it before the result was written', async () => {
    await expectDelivered(taken, { calls: 2, attempts: 1 });
  });

  it('is delivered by another worker under the same id if the receiver had not answered', async () => {
    await expectDelivered(hanging, { calls: 2, attempts: 1 });
  });
});

it('a callback that Temporal gives to a worker that never begins it is tried as soon as its heartbeats are missed', async () => {
  const { sent, lostId } = await loseOne();
  for (const each of sent) await expectDelivered(each, { calls: 1, attempts: 1 });
  const { events } = await workflow(lostId).fetchHistory();
  const tries = (events ?? []).flatMap(
    ({ activityTaskStartedEventAttributes }) => activityTaskStartedEventAttributes ?? [],
  );
  expect(tries.map(({ lastFailure }) => lastFailure?.timeoutFailureInfo?.timeoutType)).toContain(heartbeatMissed);
});

/** Creates callbacks beside pollers that take one and do nothing with it, and returns the task of that one. */
async function loseOne(): Promise<{ sent: Sent[]; lostId: string }> {
  const { connection, namespace } = gateway.temporal;
  const enough = new AbortController();
  const pollOnce = async (): Promise<string> => {
    const task = await connection.withAbortSignal(enough.signal, () =>
      connection.withDeadline(Date.now() + 60_000, () =>
        connection.workflowService.pollActivityTaskQueue({ namespace, taskQueue: { name: taskQueues.deliveries } }),
      ),
    );
    return task.workflowExecution?.workflowId ?? pollOnce();
  };
  try {
    const lost: string[] = [];
    for (let poller = 0; poller < 20; poller++)
      void pollOnce().then(
        (id) => lost.push(id),
        () => undefined,
      );
    // Temporal gives a task to the call that has waited longest, and the worker waits with several.
    const sent: Sent[] = [];
    const lostId = await eventually(async () => {
      sent.push(await create(takeIt));
      return lost[0];
    });
    return { sent, lostId };
  } finally {
    enough.abort();
  }
}

describe('a Temporal server without its namespace', () => {
  it('loses no callback, and creates are still accepted', async () => {
    const sent = await create(inTurn(answer(500), takeIt));
    await firstTryCounted(sent);
    await gateway.temporal.connection.operatorService.deleteNamespace({ namespace: gateway.temporal.namespace });
    await endWait([sent]);
    await expectDelivered(sent, { calls: 2, attempts: 2 });
    await create(takeIt);
  });
});

/** `TIMEOUT_TYPE_HEARTBEAT` of Temporal's API. */
const heartbeatMissed = 4;

const isForgotten = ({ taskId }: Sent): Promise<boolean> =>
  workflow(taskId)
    .describe()
    .then(
      () => false,
      (error: unknown) => error instanceof WorkflowNotFoundError,
    );

const workflow = (taskId: string) => gateway.temporal.client.workflow.getHandle(taskId);

const sql = <Row extends Record<string, unknown>>(text: string, values: unknown[] = []): Promise<Row[]> =>
  gateway.database.query<Row>('', text, values);

interface Sent {
  /** The path at the receiver, which is also part of the prompt. */
  name: string;
  taskId: string;
}

async function create(behaviour: Behaviour, prompt = 'a fox'): Promise<Sent> {
  const name = randomUUID();
  const taskId = await gateway.accept(project.apiKey, mediaRoutes.image, {
    model: 'aurora-image-1',
    prompt: `${prompt} ${name}`,
    callback_url: receiver.at(name, behaviour),
  });
  return { name, taskId };
}

/** Waits until the first try is counted. The second try is not due yet. */
const firstTryCounted = ({ taskId }: Sent) =>
  eventually(
    async () =>
      (await sql(`select 1 from delivery where task_id = $1 and attempts = 1 and lease_until is null`, [taskId]))
        .length > 0,
    { what: 'the first counted try' },
  );

/** Makes the second try of these callbacks two seconds overdue. */
const endWait = (sent: Sent[]) =>
  sql(
    `update delivery set next_attempt_at = clock_timestamp() - interval '2 s', woken_at = null where task_id = any ($1)`,
    [sent.map(({ taskId }) => taskId)],
  );

const callbackOver = ({ taskId }: Sent): Promise<Task> =>
  gateway.poll(project.apiKey, taskId, { until: ({ callback }) => callback !== null && callback.state !== 'pending' });

/** Expects that every call of the callback had the same id and bytes, and that the task is unchanged. */
async function expectDelivered(sent: Sent, { calls, attempts }: { calls: number; attempts: number }): Promise<void> {
  const { name, taskId } = sent;
  const task = await callbackOver(sent);
  expect(task).toMatchObject({ status: 'succeeded', credits: { charged: 4, refunded: 0 } });
  expect(task.callback).toMatchObject({ state: 'delivered', attempts, last_status: 204 });
  const received = receiver.calls(name);
  expect(received).toHaveLength(calls);
  expect(new Set(received.map(({ headers, body }) => `${headers['webhook-id']} ${body}`)).size).toBe(1);
  for (const call of received) expect(verified(call, project.webhookSecret).data.task_id).toBe(taskId);
}
