import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { processCallbacks } from '../../../src/services/callbacks/process-callbacks.ts';
import { testConfig } from '../../support/test-config.ts';
import type { Database } from '../../../src/db/database.ts';
import { buildDeps } from '../../../src/main/build-deps.ts';
import { admitted, breachesIn, newTask, openLedger, rowsOf, run, taskEnd } from '../../db/books.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { createOperator, type TestProject } from '../../support/operator.ts';
import { createTemporalNamespace, type TemporalNamespace } from '../../support/temporal-namespace.ts';
import { quickCallbacks, startReceiver, takeIt, verified, type Receiver } from './receiver.ts';

const backlog = 160;

let scratch: TestDatabase;
let temporal: TemporalNamespace;
let receiver: Receiver;
let db: Database;
let env: Record<string, string>;
let project: TestProject;
beforeAll(async () => {
  [scratch, temporal, receiver] = await Promise.all([createTestDatabase(), createTemporalNamespace(), startReceiver()]);
  db = await scratch.open();
  env = {
    ...quickCallbacks,
    // Long timeouts, so that each callback is sent once even on a slow machine.
    CALLBACK_TIMEOUT_SECONDS: '30',
    CALLBACK_LEASE_SECONDS: '60',
    DATABASE_STATEMENT_TIMEOUT_MS: '20000',
    DATABASE_CONNECT_TIMEOUT_MS: '20000',
    DATABASE_URL: scratch.url,
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: temporal.namespace,
    KEY_PEPPERS: `p1:${Buffer.alloc(32, 1).toString('base64')}`,
    MASTER_KEYS: `m1:${Buffer.alloc(32, 2).toString('base64')}`,
    EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
    SANDBOX_URL: 'http://127.0.0.1:1',
    LOG_LEVEL: 'silent',
  };
  project = await createOperator(db, env).project({ credits: 10_000 });
});
afterAll(async () => {
  await Promise.allSettled([receiver.close(), temporal.close()]);
  await scratch.drop();
});

it('sends all callbacks that are six hours overdue, once each, in batches and at most 50 a second', async () => {
  const at: number[] = [];
  const claimed = () => rowsOf(db, 'select count(*)::int as n from delivery where woken_at is not null');
  let claimedAtFirst: unknown;
  const callbackUrl = receiver.at('late', (...call) => {
    at.push(performance.now());
    if (at.length > 1) takeIt(...call);
    else
      void claimed().then((rows) => {
        claimedAtFirst = rows;
        takeIt(...call);
      });
  });
  const ledger = openLedger(db);
  await Promise.all(
    Array.from({ length: backlog }, async () => {
      const { taskId } = await admitted(ledger, newTask(project, 1, { callbackUrl }));
      await ledger.finishTask(taskEnd(taskId, 'failed'));
    }),
  );
  await run(db, `update delivery set next_attempt_at = clock_timestamp() - interval '6 hours'`);

  const built = await buildDeps(testConfig(env), 'test');
  // As if Temporal had lost all workflows.
  const deps = {
    ...built.deps,
    workflows: { ...built.deps.workflows, retryCallback: () => Promise.resolve('gone' as const) },
  };
  try {
    const begun = performance.now();
    expect(await processCallbacks(deps)).toEqual({ overdue: backlog, kicked: 0, delivered: backlog, failed: 0 });
    // At the first call only one batch is claimed, so a process that dies there delays no other callbacks.
    expect(claimedAtFirst).toEqual([{ n: 50 }]);
    expect(performance.now() - begun).toBeGreaterThan((backlog - 1) * 20 * 0.95);
    expect(await processCallbacks(deps)).toEqual({ overdue: 0, kicked: 0, delivered: 0, failed: 0 });
  } finally {
    await built.close();
  }

  const calls = receiver.calls('late');
  expect(new Set(calls.map(({ headers }) => headers['webhook-id'])).size).toBe(backlog);
  expect(calls).toHaveLength(backlog);
  for (const call of calls) verified(call, project.webhookSecret);
  // On a busy machine, one delayed call of each lane may arrive in the same second as the regular ones.
  const lanes = 16;
  const callsInSecondAfter = (from: number) => at.filter((time) => time >= from && time < from + 1_000).length;
  expect(Math.max(...at.map(callsInSecondAfter))).toBeLessThanOrEqual(50 + lanes);
  expect(await rowsOf(db, 'select state, attempts, count(*)::int as n from delivery group by 1, 2')).toEqual([
    { state: 'delivered', attempts: 1, n: backlog },
  ]);
  expect(await breachesIn(db)).toEqual([]);
});
