import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ScheduleNotFoundError } from '@temporalio/client';
import { jobNames, scheduleIdOf, type JobName } from '../../../src/domain/job.ts';
import { answer, inTurn, startReceiver, takeIt, type Behaviour, type Receiver } from '../callbacks/receiver.ts';
import { endsOf, expectBooksInOrder, isRunning } from '../../faults/crowd.ts';
import { ownTemporal, type OwnServer } from '../../faults/own-servers.ts';
import { mediaRoutes } from '../../support/api-client.ts';
import { eventually } from '../../support/eventually.ts';
import { startGateway, type Gateway } from '../../support/gateway.ts';
import { accountOf } from '../../support/rows.ts';
import { callJob, runByCall, runsOf } from './scheduler.ts';

let temporal: OwnServer;
let gateway: Gateway;
let receiver: Receiver;

beforeAll(async () => {
  temporal = await ownTemporal();
  receiver = await startReceiver();
  const { port } = new URL(receiver.at(''));
  gateway = await startGateway({
    env: {
      // No sweep: what is done here, a job did, or Temporal.
      SWEEP_INTERVAL_SECONDS: '3600',
      JOB_CALLBACKS_SECONDS: '2',
      JOB_STALE_TASKS_SECONDS: '2',
      TEMPORAL_ENSURE_SECONDS: '1',
      CALLBACK_PORTS: port,
      // After its first try a callback waits until a test has done what it came for, and calls endWait.
      CALLBACK_RETRY_SCHEDULE_SECONDS: '600,1,1,1,1',
      CALLBACK_LATE_SECONDS: '1',
      CALLBACK_KICK_SECONDS: '2',
      // A receiver that hangs keeps its job waiting until a test has done what it came for.
      CALLBACK_TIMEOUT_SECONDS: '40',
      CALLBACK_LEASE_SECONDS: '45',
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

const schedule = (name: JobName) => gateway.temporal.client.schedule.getHandle(scheduleIdOf(name));

/** What a supervisor does: where a worker has ended, it starts another. */
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

/** Accepts a task with a callback and answers its id. */
const acceptWithCallback = (apiKey: string, prompt: string, url: string): Promise<string> =>
  gateway.accept(apiKey, mediaRoutes.image, { model: 'aurora-image-1', prompt, callback_url: url });

/** As if the wait after the first try of these callbacks were over, and nobody had come. */
const endWait = (taskIds: string[]) =>
  gateway.database.query(
    {
      name: 'test-end-wait',
      text: `update delivery set next_attempt_at = clock_timestamp() - interval '2 s' where task_id = any ($1)`,
    },
    [taskIds],
  );

async function deliveryOf(taskId: string): Promise<{ state: string; attempts: number; adopted: boolean }> {
  const [row] = await gateway.database.query<{ state: string; attempts: number; adopted: boolean }>(
    { name: '', text: 'select state, attempts, adopted_at is not null as adopted from delivery where task_id = $1' },
    [taskId],
  );
  return row ?? { state: 'none', attempts: 0, adopted: false };
}

describe('the Schedules', () => {
  it('exist for every job, skip what would overlap, and run the jobs at their intervals', async () => {
    for (const name of jobNames) {
      const { spec, policies, state } = await schedule(name).describe();
      expect([spec.intervals?.length, policies.overlap, state.paused]).toEqual([1, 'SKIP', false]);
    }
    await eventually(
      async () => {
        const runs = await runsOf(gateway, 'process-pending-callbacks');
        return runs.filter(({ state, trigger }) => state === 'succeeded' && trigger === 'schedule').length >= 2;
      },
      { secondsMax: 40, what: 'the second run by a Schedule' },
    );
  });

  it('keep the pause of an operator, and run when they are asked to all the same', async () => {
    expect((await runByCall(gateway, 'check-api-channels')).body).toMatchObject({ ran: true, state: 'succeeded' });
    await schedule('check-api-channels').pause('being repaired');
    // As if the interval had been configured anew: the next look of a worker brings it up to date.
    await schedule('check-api-channels').update(({ action, policies, state }) => ({
      ...{ action, policies, state },
      spec: { intervals: [{ every: '5 hours' }] },
    }));
    const { state } = await eventually(async () => {
      const known = await schedule('check-api-channels').describe();
      return known.spec.intervals?.[0]?.every === 86_400_000 && known;
    });
    expect(state).toMatchObject({ paused: true, note: 'being repaired' });
    expect((await runByCall(gateway, 'check-api-channels')).body).toMatchObject({ ran: true, state: 'succeeded' });
    await schedule('check-api-channels').unpause();
  });
});

describe('a job whose worker is killed half-way', () => {
  it('counts as lost, and the next run does what it had not done', async () => {
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
    const triedOnce = async () => (await Promise.all(taskIds.map(deliveryOf))).every(({ attempts }) => attempts === 1);
    await eventually(triedOnce, { secondsMax: 30 });
    // With their workflows gone, the job has to deliver: three are taken, one keeps it waiting.
    await Promise.all(taskIds.map((taskId) => gateway.temporal.client.workflow.getHandle(taskId).terminate()));
    await endWait(taskIds);
    await eventually(() => Promise.resolve(names.every((name) => receiver.calls(name).length === 2)), {
      secondsMax: 20,
    });
    const [half] = (await runsOf(gateway, 'process-pending-callbacks')).filter(({ state }) => state === 'running');
    // The only worker holds the run. Another one is up, with its look around at its start behind it, before that one dies.
    await gateway.startWorker();
    expect(await deliveryOf(hanging)).toMatchObject({ state: 'pending', adopted: true });
    // While that run holds the job, no other run can find it due.
    await gateway.database.query(
      { name: 'test-end-lease', text: 'update delivery set lease_until = clock_timestamp() where task_id = $1' },
      [hanging],
    );
    await gateway.kill('worker-1');

    // The job's lock is free when its lease is over; the run that takes it counts the other as lost.
    const later = await eventually(
      async () => {
        const runs = await runsOf(gateway, 'process-pending-callbacks');
        const at = runs.findIndex(({ id }) => id === half?.id);
        const after = runs.slice(at + 1).filter(({ state }) => state === 'succeeded');
        return runs[at]?.state === 'lost' && after.length > 0 && after;
      },
      { secondsMax: 30 },
    );
    expect(later[0]?.summary).toMatchObject({ overdue: 1, delivered: 1 });
    for (const taskId of taskIds) expect(await deliveryOf(taskId)).toMatchObject({ state: 'delivered', adopted: true });
    expect(names.map((name) => receiver.calls(name).length)).toEqual([3, 2, 2, 2]);
  });
});

describe('while Temporal is stopped', () => {
  it('every endpoint runs its command itself, and without a scheduler the workers run it', async () => {
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
          {
            name: '',
            text: `update task set deadline_at = clock_timestamp() where project_id = $1 and completed_at is null`,
          },
          [projectId],
        );
      await pastDeadline();
      const before: Record<string, number> = {};
      for (const name of jobNames) before[name] = (await runsOf(gateway, name)).length;
      const answers = await Promise.all(jobNames.map((name) => callJob(gateway, name)));
      expect(answers.map(({ status }) => [200, 202].includes(status))).toEqual(jobNames.map(() => true));
      for (const name of jobNames) {
        // A loop may have been faster with one of them; then its run is the one under way.
        const run = await eventually(
          async () => (await runsOf(gateway, name)).slice(before[name]).find(({ state }) => state === 'succeeded'),
          { secondsMax: 40, what: `a run of ${name}` },
        );
        expect(['endpoint', 'loop']).toContain(run.trigger);
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
  it('its namespace and Schedules come back, every task ends, every callback is delivered, every credit is whole', async () => {
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
          secondsMax: 30,
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
        await eventually(async () => (await deliveryOf(taskId)).state === 'delivered', { secondsMax: 60 });
      }
      await expectBooksInOrder(gateway, { projectId, credits: 1_000 });
      for (const name of jobNames) {
        await eventually(
          () =>
            schedule(name)
              .describe()
              .catch((error: unknown) => {
                if (error instanceof ScheduleNotFoundError) return null;
                throw error;
              }),
          { secondsMax: 60, what: `the Schedule of ${name}` },
        );
      }
      expect((await runByCall(gateway, 'scheduled-maintenance')).body).toMatchObject({ ran: true, state: 'succeeded' });
    } finally {
      await stopSupervising();
    }
  });
});
