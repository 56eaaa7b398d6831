import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { deliverCallback } from '../../../src/services/callbacks/deliver-callback.ts';
import { anyRedeliveries } from '../../../src/services/callbacks/redeliver-callback.ts';
import { processCallbacks } from '../../../src/services/callbacks/process-callbacks.ts';
import { testConfig } from '../../support/test-config.ts';
import type { Database } from '../../../src/db/database.ts';
import { startRedelivery } from '../../../src/db/callbacks/deliveries.ts';
import { eraseContents } from '../../../src/db/scheduled-jobs/retention.ts';
import type { Deps } from '../../../src/deps.ts';
import { buildDeps, type Built } from '../../../src/main/build-deps.ts';
import { createLogger } from '../../../src/platform/observe/logger.ts';
import { admitted, newId, newTask, openLedger, rowsOf, run, taskEnd } from '../../db/books.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { createOperator, type TestProject } from '../../support/operator.ts';
import { quickCallbacks, startReceiver, takeIt, verified, type Receiver } from './receiver.ts';

let scratch: TestDatabase;
let db: Database;
let env: Record<string, string>;
let receiver: Receiver;
let built: Built;
beforeAll(async () => {
  [scratch, receiver] = await Promise.all([createTestDatabase(), startReceiver()]);
  db = await scratch.open();
  env = {
    ...quickCallbacks,
    CALLBACK_KICK_SECONDS: '300',
    // Long timeouts, so that no call and no statement fails because this process was delayed.
    CALLBACK_TIMEOUT_SECONDS: '30',
    CALLBACK_LEASE_SECONDS: '60',
    DATABASE_STATEMENT_TIMEOUT_MS: '20000',
    DATABASE_CONNECT_TIMEOUT_MS: '20000',
    DATABASE_URL: scratch.url,
    KEY_PEPPERS: `p1:${Buffer.alloc(32, 1).toString('base64')}`,
    MASTER_KEYS: `m1:${Buffer.alloc(32, 2).toString('base64')}`,
    EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
    SANDBOX_URL: 'http://127.0.0.1:1',
    LOG_LEVEL: 'silent',
  };
  built = await buildDeps(testConfig(env), 'test');
});
afterAll(async () => {
  await built.close();
  await receiver.close();
  await scratch.drop();
});

let project: TestProject;
let lines: Record<string, unknown>[];
beforeEach(async () => {
  lines = [];
  project = await newProject();
});
// Each test must find only its own callbacks.
afterEach(() =>
  run(
    db,
    `update delivery set state = 'exhausted', ended_at = clock_timestamp(), next_attempt_at = null where state = 'pending'`,
  ),
);

const newProject = () => createOperator(db, env).project({ credits: 10_000 });

/** A worker's dependencies, except that Temporal by default has no workflow for any callback. */
const depsWith = (
  retryCallback: (workflowId: string) => Promise<'signaled' | 'gone' | 'unreachable'> = gone,
): Deps => ({
  ...built.deps,
  logger: createLogger('info', 'test', { write: (line) => void lines.push(Line.parse(JSON.parse(line))) }),
  workflows: { ...built.deps.workflows, retryCallback },
});
const Line = z.record(z.string(), z.unknown());
const gone = () => Promise.resolve('gone' as const);

interface Sent {
  /** The last part of the receiver's URL. */
  name: string;
  taskId: string;
  deliveryId: string;
}

/** Ended tasks whose callbacks became due `minutes` ago. */
const overdue = (of: TestProject, count: number, { minutes = 60, behaviour = takeIt } = {}) =>
  Promise.all(
    Array.from({ length: count }, async (): Promise<Sent> => {
      const name = newId('path');
      const ledger = openLedger(db);
      const { taskId } = await admitted(ledger, newTask(of, 1, { callbackUrl: receiver.at(name, behaviour) }));
      const end = taskEnd(taskId, 'failed');
      await ledger.finishTask(end);
      await dueSince(end.deliveryId, minutes);
      return { name, taskId, deliveryId: end.deliveryId };
    }),
  );
const dueSince = (deliveryId: string, minutes: number) =>
  run(db, `update delivery set next_attempt_at = clock_timestamp() - make_interval(mins => $2) where id = $1`, [
    deliveryId,
    minutes,
  ]);

/** Makes a secret undecryptable: it names a missing master key. */
const loseSecret = ({ projectId }: TestProject, column = 'callback_secret') =>
  run(db, `update project set ${column} = replace(callback_secret, 'v2.m1.', 'v2.m0.') where id = $1`, [projectId]);

const callsOf = (sent: Sent[]) => sent.map(({ name }) => receiver.calls(name).length);
const deliveriesOf = (sent: Sent[]) =>
  rowsOf(
    db,
    `select state, attempts, woken_at is not null as kicked, count(*)::int as n from delivery where id = any ($1) group by 1, 2, 3`,
    [sent.map(({ deliveryId }) => deliveryId)],
  );
const triesOf = ({ deliveryId }: Sent) =>
  rowsOf(db, 'select n, status, error_class from delivery_attempt where delivery_id = $1 order by n', [deliveryId]);
const alarms = () => lines.filter(({ alarm }) => alarm === true);
const times = (n: number, value: number) => Array.from({ length: n }, () => value);

describe('a callback whose secret cannot be decrypted', () => {
  it('is counted as a try, raises an alarm, and delays no other callback', async () => {
    const lost = await newProject();
    await loseSecret(lost);
    const unreadable = await overdue(lost, 18);
    const healthy = await overdue(project, 10, { minutes: 30 });

    expect(await processCallbacks(depsWith())).toEqual({ overdue: 28, kicked: 0, delivered: 10, failed: 0 });
    expect(callsOf(healthy)).toEqual(times(10, 1));
    expect(callsOf(unreadable)).toEqual(times(18, 0));
    expect(await deliveriesOf(unreadable)).toMatchObject([{ state: 'pending', attempts: 1, n: 18 }]);
    expect(await triesOf(unreadable[0]!)).toEqual([{ n: 1, status: null, errorClass: 'unsendable:secret' }]);
    expect(alarms()).toHaveLength(18);
    expect(alarms()[0]).toMatchObject({ level: 'error', project_id: lost.projectId });
  });

  it('is given up after eight tries, and its content is erased when it expires', async () => {
    await loseSecret(project);
    const [sent] = await overdue(project, 1);
    for (let n = 1; n <= 8; n++) {
      await dueSince(sent!.deliveryId, 60);
      expect(await processCallbacks(depsWith())).toEqual({ overdue: 1, kicked: 0, delivered: 0, failed: 0 });
    }
    expect(await deliveriesOf([sent!])).toMatchObject([{ state: 'exhausted', attempts: 8 }]);
    await run(db, `update task set expires_at = clock_timestamp() where id = $1`, [sent!.taskId]);
    await eraseContents(db, 1_000);
    expect(await rowsOf(db, 'select input from task where id = $1', [sent!.taskId])).toEqual([{ input: null }]);
  });

  it('is delivered under its id once the master key is restored', async () => {
    await loseSecret(project);
    const [sent] = await overdue(project, 1);
    expect(await deliverCallback(depsWith(), sent!.deliveryId)).toMatchObject({ over: false });
    await run(db, `update project set callback_secret = replace(callback_secret, 'v2.m0.', 'v2.m1.') where id = $1`, [
      project.projectId,
    ]);
    await dueSince(sent!.deliveryId, 1);
    expect(await deliverCallback(depsWith(), sent!.deliveryId)).toMatchObject({ over: true, delivered: true });
    expect(verified(receiver.calls(sent!.name)[0]!, project.webhookSecret).data.task_id).toBe(sent!.taskId);
    expect(await deliveriesOf([sent!])).toMatchObject([{ state: 'delivered', attempts: 2 }]);
  });

  it('is signed with the other secret alone during a rotation, and raises an alarm', async () => {
    await run(
      db,
      `update project set callback_secret_previous_until = clock_timestamp() + interval '1 hour' where id = $1`,
      [project.projectId],
    );
    await loseSecret(project, 'callback_secret_previous');
    const [sent] = await overdue(project, 1);
    expect(await processCallbacks(depsWith())).toMatchObject({ delivered: 1 });
    const [call] = receiver.calls(sent!.name);
    expect(call?.headers['webhook-signature']?.match(/\bv1,/g)).toHaveLength(1);
    expect(verified(call!, project.webhookSecret).data.task_id).toBe(sent!.taskId);
    expect(alarms()).toHaveLength(1);
  });
});

describe('a callback whose body cannot be rendered', () => {
  it('is counted as a try', async () => {
    const [sent] = await overdue(project, 1);
    // A value that a newer release may have written before a rollback.
    await run(db, `update task set error_code = 'of_a_later_release' where id = $1`, [sent!.taskId]);
    expect(await processCallbacks(depsWith())).toMatchObject({ overdue: 1, delivered: 0, failed: 0 });
    expect(await triesOf(sent!)).toEqual([{ n: 1, status: null, errorClass: 'unsendable:content' }]);
    expect(alarms()).toMatchObject([{ delivery_id: sent!.deliveryId }]);
  });
});

describe('callbacks that cannot be handled', () => {
  it('are counted as failed, raise an alarm, can be claimed again, and delay no other callback', async () => {
    const bad = await overdue(project, 60);
    const healthy = await overdue(project, 10, { minutes: 30 });
    const badOnes = new Set(bad.map(({ taskId }) => taskId));
    const processed = processCallbacks(
      depsWith((workflowId) => (badOnes.has(workflowId) ? Promise.reject(new Error('odd')) : gone())),
    );
    expect(await processed).toEqual({ overdue: 70, kicked: 0, delivered: 10, failed: 60 });
    expect(callsOf(healthy)).toEqual(times(10, 1));
    expect(await deliveriesOf(bad)).toEqual([{ state: 'pending', attempts: 0, kicked: false, n: 60 }]);
    expect(alarms()).toHaveLength(60);
  });

  it('because Temporal is unreachable for one of them do not delay the others', async () => {
    const [odd] = await overdue(project, 1);
    const healthy = await overdue(project, 60, { minutes: 30 });
    const processed = processCallbacks(
      depsWith((workflowId) => (workflowId === odd!.taskId ? Promise.resolve('unreachable') : gone())),
    );
    expect(await processed).toEqual({ overdue: 61, kicked: 0, delivered: 60, failed: 0 });
    expect(await deliveriesOf([odd!])).toEqual([{ state: 'pending', attempts: 0, kicked: false, n: 1 }]);
    expect(callsOf(healthy)).toEqual(times(60, 1));
  });

  it('because Temporal is unreachable do not delay callbacks that need no workflow', async () => {
    const waiting = await overdue(project, 60);
    const adopted = await overdue(project, 5, { minutes: 30 });
    await run(db, 'update delivery set adopted_at = clock_timestamp() where id = any ($1)', [
      adopted.map(({ deliveryId }) => deliveryId),
    ]);
    let signals = 0;
    const unreachable = () => {
      signals += 1;
      return Promise.resolve('unreachable' as const);
    };
    expect(await processCallbacks(depsWith(unreachable))).toMatchObject({ kicked: 0, delivered: 5, failed: 0 });
    expect(callsOf(adopted)).toEqual(times(5, 1));
    // After one batch without an answer, the run signals no more workflows.
    expect(signals).toBe(50);
    expect(await deliveriesOf(waiting)).toEqual([{ state: 'pending', attempts: 0, kicked: false, n: 60 }]);
  });
});

describe('a try that is taken over during its call to the receiver', () => {
  it('is not counted, and the log does not report it as delivered', async () => {
    const again = newId('dlv');
    const [sent] = await overdue(project, 1, {
      behaviour: (response, n, request) =>
        void startRedelivery(db, {
          taskId: taskOf(),
          deliveryId: again,
          eventId: newId('evt'),
          limits: anyRedeliveries,
        }).then(() => takeIt(response, n, request)),
    });
    const taskOf = () => sent!.taskId;
    const deps = depsWith();
    const report = await deliverCallback(deps, sent!.deliveryId);
    expect(await deliveriesOf([sent!])).toMatchObject([{ state: 'replaced', attempts: 0 }]);
    expect(lines.filter(({ state }) => state === 'delivered')).toEqual([]);
    expect(lines.filter(({ delivery_id: id }) => id === sent!.deliveryId)).toMatchObject([
      {
        level: 'warn',
        status: 204,
        msg: 'the try of a callback was not counted, because another process had taken it over',
      },
    ]);
    // The next call returns the current state.
    expect(report).toEqual({ over: false, waitMs: 0, delivered: false });
    expect(await deliverCallback(deps, sent!.deliveryId)).toMatchObject({ over: true });
    expect(receiver.calls(sent!.name)).toHaveLength(1);
  });

  it('because its lease expired is left to the process that holds the lease now', async () => {
    const [sent] = await overdue(project, 1, {
      behaviour: (response, n, request) =>
        void run(
          db,
          `update delivery set lease_token = 'another', lease_until = clock_timestamp() + interval '1 hour'`,
        ).then(() => takeIt(response, n, request)),
    });
    expect(await deliverCallback(depsWith(), sent!.deliveryId)).toMatchObject({ over: false, delivered: false });
    expect(await deliveriesOf([sent!])).toMatchObject([{ state: 'pending', attempts: 0 }]);
    const again = await deliverCallback(depsWith(), sent!.deliveryId);
    expect(again.over).toBe(false);
    expect(again.waitMs).toBeGreaterThan(3_000_000);
  });
});
