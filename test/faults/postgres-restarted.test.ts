import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { mediaRoutes } from '../support/api-client.ts';
import { startGateway, type Gateway } from '../support/gateway.ts';
import {
  countAttempts,
  endsOf,
  eventually,
  expectBooksInOrder,
  expectOneSubmitPerAttempt,
  insist,
  isRunning,
} from './crowd.ts';
import { ownPostgres, type OwnServer } from './own-servers.ts';

let postgres: OwnServer;
let gateway: Gateway;

beforeAll(async () => {
  postgres = await ownPostgres();
  gateway = await startGateway({
    temporalClient: true,
    env: {
      ATTEMPT_HEARTBEAT_TIMEOUT_SECONDS: '3',
      SUBMIT_TIMEOUT_SECONDS: '15',
      VIDEO_DEADLINE_SECONDS: '24',
    },
  });
});
afterAll(async () => {
  await gateway?.stop();
  await postgres?.close();
});

describe('while PostgreSQL is restarted', () => {
  it('requests get 503 with Retry-After, no process exits, and no task is lost or charged twice', async () => {
    const { projectId, apiKey } = await gateway.project({ credits: 1_000 });
    const before = gateway.pids();
    const running = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        insist(gateway, apiKey, { prompt: `postgres restarts, ${index} [[latency=6000]]`, key: `before-${index}` }),
      ),
    );
    await eventually(
      60,
      async () => (await countAttempts(gateway, projectId, 'a.operation is not null')) === 10 || 'too few jobs run',
    );

    await postgres.stop();
    // The outage is long enough for jobs to end and for sweeps to fail.
    const refusals = [];
    for (let round = 0; round < 8; round++) {
      refusals.push(
        await gateway.create(apiKey, mediaRoutes.image, {
          model: 'aurora-image-1',
          prompt: 'postgres restarts, refused',
        }),
        await gateway.get(apiKey, `/api/v1/tasks/${running[0]}`),
      );
    }
    for (const { status, headers, body } of refusals) {
      expect([status, body]).toMatchObject([503, { error: { code: 'service_unavailable' } }]);
      expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    }
    // This client repeats its create with the same key during the restart.
    const insisting = insist(gateway, apiKey, { prompt: 'postgres restarts, insisting', key: 'meanwhile' });
    await postgres.start();

    const taskIds = [...running, await insisting];
    const ends = await endsOf(gateway, projectId);
    expect(ends.map(({ id, status }) => [id, status]).sort()).toEqual(taskIds.map((id) => [id, 'succeeded']).sort());
    expect(await expectOneSubmitPerAttempt(gateway, 'postgres restarts')).toBe(taskIds.length);
    expect(gateway.pids()).toEqual(before);
    expect(Object.values(before).filter((pid) => !isRunning(pid))).toEqual([]);
    await expectBooksInOrder(gateway, { projectId, credits: 1_000 });
  });

  it('tasks whose deadline passes fail as task_timeout with a refund, and their workflows close normally', async () => {
    const { projectId, apiKey } = await gateway.project({ credits: 1_000 });
    const accept = (words: string) =>
      gateway.accept(apiKey, mediaRoutes.video, { model: 'kling-2.5-turbo', prompt: `away at the deadline ${words}` });
    // The first job never ends. The second job ends while its result cannot be written.
    const taskIds = await Promise.all([accept('[[fail=never]]'), accept('[[latency=20000]]')]);
    const everyProviderJobRuns = async () =>
      (await countAttempts(gateway, projectId, 'a.operation is not null')) === 2 || 'too few jobs run';
    await eventually(17, everyProviderJobRuns);
    const [last] = await gateway.database.query<{ deadline: Date }>(
      '',
      'select max(deadline_at) as deadline from task where project_id = $1',
      [projectId],
    );
    await postgres.stop();
    await sleep(Number(last?.deadline) + 500 - Date.now());
    await postgres.start();

    const ends = await endsOf(gateway, projectId);
    expect(ends.map(({ id }) => id).sort()).toEqual([...taskIds].sort());
    for (const end of ends)
      expect(end).toMatchObject({ status: 'failed', errorCode: 'task_timeout', creditsCharged: 0 });
    for (const taskId of taskIds) {
      const closedAs = async () => (await gateway.temporal.client.workflow.getHandle(taskId).describe()).status.name;
      await eventually(60, async () => (await closedAs()) !== 'RUNNING' || `the workflow of ${taskId} still runs`);
      expect(['COMPLETED', 'CANCELLED']).toContain(await closedAs());
    }
    await expectBooksInOrder(gateway, { projectId, credits: 1_000 });
  });
});
