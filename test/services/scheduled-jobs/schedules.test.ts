import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ScheduleNotFoundError, type ScheduleDescription } from '@temporalio/client';
import { scheduledJobNames, scheduleIdOf, type ScheduledJobName } from '../../../src/domain/tasks/scheduled-job.ts';
import { answer, inTurn, startReceiver, takeIt, type Behaviour, type Receiver } from '../callbacks/receiver.ts';
import { endsOf, expectBooksInOrder, isRunning } from '../../faults/crowd.ts';
import { ownTemporal, type OwnServer } from '../../faults/own-servers.ts';
import { mediaRoutes } from '../../support/api-client.ts';
import { eventually } from '../../support/eventually.ts';
import { startGateway, type Gateway } from '../../support/gateway.ts';
import { accountOf } from '../../support/rows.ts';
import { callScheduledJob, runByCall, runsOf } from './scheduler.ts';

let temporal: OwnServer;
let gateway: Gateway;
let receiver: Receiver;

beforeAll(async () => {
  temporal = await ownTemporal();
  receiver = await startReceiver();
  const { port } = new URL(receiver.at(''));
  gateway = await startGateway({
    temporalClient: true,
    env: {
      // No sweep, so that all work here is done by a job or by Temporal.
      SWEEP_INTERVAL_SECONDS: '3600',
      JOB_CALLBACKS_SECONDS: '3',
      JOB_STALE_TASKS_SECONDS: '3',
      // A run whose worker stands still for a moment is not lost.
      JOB_LEASE_SECONDS: '10',
      TEMPORAL_ENSURE_SECONDS: '2',
      CALLBACK_PORTS: port,
      // After its first try a callback waits until the test calls endWait.
      CALLBACK_LADDER_SECONDS: '600,1,1,1,1',
      CALLBACK_LATE_SECONDS: '1',
      CALLBACK_KICK_SECONDS: '2',
      // A receiver that hangs keeps its job running until the end of the test.
      CALLBACK_TIMEOUT_SECONDS: '100',
      CALLBACK_LEASE_SECONDS: '105',
      ATTEMPT_HEARTBEAT_TIMEOUT_SECONDS: '3',
      SWEEP_SILENT_SECONDS: '5',
    },
  });
});
afterAll(async () => {
  await gateway?.stop();
  await receiver?.close();
  await temporal?.close();
});

const schedule = (name: ScheduledJobName) => gateway.temporal.client.schedule.getHandle(scheduleIdOf(name));

/** A worker creates the missing ones when it starts, and again and again while Temporal refuses. */
const described = (name: ScheduledJobName): Promise<ScheduleDescription> =>
  eventually(
    () =>
      schedule(name)
        .describe()
        .catch((error: unknown) => {
          if (error instanceof ScheduleNotFoundError) return null;
          throw error;
        }),
    { what: `the Schedule of ${name}` },
  );

/** Starts a worker whenever none runs, as a supervisor does. */
function supervise(): () => Promise<void> {
  let starting: Promise<unknown> | undefined;
  const timer = setInterval(() => {
    const workers = Object.entries(gateway.pids()).filter(([name]) => name.startsWith('worker'));
    if (workers.some(([, pid]) => isRunning(pid))) return;
    starting ??= gateway
      .startWorker()
      .catch(() => undefined)
      .finally(() => (starting = undefined));
  }, 500);
  return async () => {
    clearInterval(timer);
    await starting;
  };
}

/** Creates a task with a callback and returns its id. */
const acceptWithCallback = (apiKey: string, prompt: string, url: string): Promise<string> =>
  gateway.accept(apiKey, mediaRoutes.image, { model: 'aurora-image-1', prompt, callback_url: url });

/** Makes the retries of these callbacks overdue. */
const endWait = (taskIds: string[]) =>
  gateway.database.query(
    'test-end-wait',
    `update delivery set next_attempt_at = clock_timestamp() - interval '2 s' where task_id = any ($1)`,
    [taskIds],
  );

async function deliveryOf(taskId: string): Promise<{ state: string; attempts: number; adopted: boolean }> {
  const [row] = await gateway.database.query<{ state: string; attempts: number; adopted: boolean }>(
    '',
    'select state, attempts, adopted_at is not null as adopted from delivery where task_id = $1',
    [taskId],
  );
  return row ?? { state: 'none', attempts: 0, adopted: false };
}

describe('the Schedules', () => {
  it('exist for every job, skip overlapping runs, and run the jobs at their intervals', async () => {
    for (const name of scheduledJobNames) {
      const { spec, policies, state } = await described(name);
      expect([spec.intervals?.length, policies.overlap, state.paused]).toEqual([1, 'SKIP', false]);
    }
    await eventually(
      async () => {
        const runs = await runsOf(gateway, 'process-pending-callbacks');
        return runs.filter(({ state, trigger }) => state === 'succeeded' && trigger === 'schedule').length >= 2;
      },
      { secondsMax: 90, what: 'the second run by a Schedule' },
    );
  });

  it('stay paused by an operator, but still run on request', async () => {
    expect((await runByCall(gateway, 'check-api-channels')).body).toMatchObject({ ran: true, state: 'succeeded' });
    await schedule('check-api-channels').pause('being repaired');
    // As after a change of the configured interval. The next check of a worker repairs it.
    await schedule('check-api-channels').update(({ action, policies, state }) => ({
      action,
      policies,
      state,
      spec: { intervals: [{ every: '5 hours' }] },
    }));
    const { state } = await eventually(async () => {
      const description = await schedule('check-api-channels').describe();
      return description.spec.intervals?.[0]?.every === 400_000_000_000 && description;
    });
    expect(state).toMatchObject({ paused: true, note: 'being repaired' });
    expect((await runByCall(gateway, 'check-api-channels')).body).toMatchObject({ ran: true, state: 'succeeded' });
    await schedule('check-api-channels').unpause();
  });
});

describe('a job whose worker is killed half-way', () => {
  it('counts as lost, and the next run does the remaining work', async () => {
    const { apiKey } = await gateway.project();
    const hangs: Behaviour = () => undefined;
    const behaviours = [inTurn(answer(500), hangs, takeIt), ...[1, 2, 3].map(() => inTurn(answer(500), takeIt))];
    const names = behaviours.map((_, n) => `half-way-${n}`);
    const taskIds = await Promise.all(
      behaviours.map((behaviour, n) =>
        acceptWithCallback(apiKey, `half-way ${n} [[latency=50]]`, receiver.at(names[n] ?? '', behaviour)),
      ),
    );
    const [hanging = ''] = taskIds;
    const areAttemptedOnce = async () =>
      (await Promise.all(taskIds.map(deliveryOf))).every(({ attempts }) => attempts === 1);
    await eventually(areAttemptedOnce);
    // Without workflows the job must deliver: three receivers accept, and one keeps the job waiting.
    await Promise.all(taskIds.map((taskId) => gateway.temporal.client.workflow.getHandle(taskId).terminate()));
    await endWait(taskIds);
    await eventually(() => Promise.resolve(names.every((name) => receiver.calls(name).length === 2)));
    const [half] = (await runsOf(gateway, 'process-pending-callbacks')).filter(({ state }) => state === 'running');
    // The only worker holds the run. A second worker has started and done its first sweep before the first one is killed.
    await gateway.startWorker();
    expect(await deliveryOf(hanging)).toMatchObject({ state: 'pending', adopted: true });
    // Only the next run can find the delivery due, because this run holds the lock of the job.
    await gateway.database.query(
      'test-end-lease',
      'update delivery set lease_until = clock_timestamp() where task_id = $1',
      [hanging],
    );
    await gateway.kill('worker-1');

    // The lock is free when its lease expires. The run that takes it counts the other one as lost.
    const later = await eventually(
      async () => {
        const runs = await runsOf(gateway, 'process-pending-callbacks');
        const at = runs.findIndex(({ id }) => id === half?.id);
        const after = runs.slice(at + 1).filter(({ state }) => state === 'succeeded');
        return runs[at]?.state === 'lost' && after.length > 0 && after;
      },
      { secondsMax: 150, what: 'the run after the lost one' },
    );
    expect(later[0]?.summary).toMatchObject({ overdue: 1, delivered: 1 });
    for (const taskId of taskIds) expect(await deliveryOf(taskId)).toMatchObject({ state: 'delivered', adopted: true });
    expect(names.map((name) => receiver.calls(name).length)).toEqual([3, 2, 2, 2]);
  });
});

describe('while Temporal is stopped', () => {
  it('every job endpoint runs its command itself, and without a scheduler the workers run it', async () => {
    const { projectId, apiKey } = await gateway.project({ credits: 100 });
    await temporal.stop();
    try {
      const taskIds = await Promise.all(
        [1, 2, 3].map((n) =>
          gateway.accept(apiKey, mediaRoutes.image, { model: 'aurora-image-1', prompt: `stopped ${n}` }),
        ),
      );
      const pastDeadline = () =>
        gateway.database.query(
          '',
          `update task set deadline_at = clock_timestamp() where project_id = $1 and completed_at is null`,
          [projectId],
        );
      await pastDeadline();
      const before: Record<string, number> = {};
      for (const name of scheduledJobNames) before[name] = (await runsOf(gateway, name)).length;
      const answers = await Promise.all(scheduledJobNames.map((name) => callScheduledJob(gateway, name)));
      expect(answers.map(({ status }) => [200, 202].includes(status))).toEqual(scheduledJobNames.map(() => true));
      for (const name of scheduledJobNames) {
        // The loop of a worker may have begun one of the runs first.
        await eventually(
          // Temporal may have begun a run just before it stopped.
          async () =>
            (await runsOf(gateway, name))
              .slice(before[name])
              .some(({ state, trigger }) => state === 'succeeded' && ['endpoint', 'loop'].includes(trigger)),
          { secondsMax: 90, what: `a run of ${name}` },
        );
      }
      expect(answers.filter(({ body }) => body['run_id'] !== undefined).length).toBeGreaterThanOrEqual(2);
      for (const taskId of taskIds) {
        expect(await gateway.poll(apiKey, taskId)).toMatchObject({ status: 'failed', error: { code: 'task_timeout' } });
      }
      expect(await accountOf(gateway.database, projectId)).toEqual({ balance: 100, reserved: 0 });

      const alone = await gateway.accept(apiKey, mediaRoutes.image, {
        model: 'aurora-image-1',
        prompt: 'stopped, alone',
      });
      await pastDeadline();
      expect(await gateway.poll(apiKey, alone)).toMatchObject({ status: 'failed', error: { code: 'task_timeout' } });
      const [latest] = (await runsOf(gateway, 'check-stale-media-tasks')).reverse();
      expect(latest).toMatchObject({ trigger: 'loop' });
    } finally {
      await temporal.start();
    }
  });
});

describe('when Temporal is wiped while tasks run and callbacks wait', () => {
  it('its namespace and Schedules are created again, every task ends, every callback is delivered, and the ledger is correct', async () => {
    const { projectId, apiKey } = await gateway.project({ credits: 1_000 });
    const stopSupervising = supervise();
    try {
      const names = [0, 1, 2, 3, 4].map((n) => `wiped-${n}`);
      const called = await Promise.all(
        names.map((name) =>
          acceptWithCallback(apiKey, `${name} [[latency=50]]`, receiver.at(name, inTurn(answer(500), takeIt))),
        ),
      );
      await eventually(
        async () => (await Promise.all(called.map(deliveryOf))).every(({ attempts }) => attempts === 1),
        {
          secondsMax: 90,
        },
      );
      await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          gateway.accept(apiKey, mediaRoutes.image, { model: 'aurora-image-1', prompt: `wiped ${n} [[latency=5000]]` }),
        ),
      );
      await temporal.stop();
      await temporal.start({ wiped: true });
      await endWait(called);

      const ends = await endsOf(gateway, projectId, 120);
      expect(ends).toHaveLength(25);
      expect(ends.filter(({ status }) => status === 'succeeded').length).toBeGreaterThanOrEqual(23);
      for (const taskId of called) {
        await eventually(async () => (await deliveryOf(taskId)).state === 'delivered', { secondsMax: 120 });
      }
      await expectBooksInOrder(gateway, { projectId, credits: 1_000 });
      for (const name of scheduledJobNames) {
        await described(name);
      }
      expect((await runByCall(gateway, 'scheduled-maintenance')).body).toMatchObject({ ran: true, state: 'succeeded' });
    } finally {
      await stopSupervising();
    }
  });
});
