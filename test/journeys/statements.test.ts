import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mediaRoutes } from '../support/api-client.ts';
import { startCountingProxy, type CountingProxy } from '../support/counting-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';

/** The statements of the loops that start tasks and poll parked jobs. They run several times a second, whatever the number of tasks. */
const loops = ['claim-unstarted', 'claim_polls'];

/** Rare, so that a sweep runs less often than a task of the test. */
const rareSweeps = { SWEEP_INTERVAL_SECONDS: '60' };

let gateway: Gateway;
let project: TestProject;
let api: CountingProxy;
let worker: CountingProxy;

beforeAll(async () => {
  gateway = await startGateway({ apis: 0, workers: 0, env: rareSweeps });
  const url = gateway.env['DATABASE_URL'] ?? '';
  [api, worker] = (await Promise.all([1, 2].map(() => startCountingProxy(Number(new URL(url).port))))) as [
    CountingProxy,
    CountingProxy,
  ];
  await gateway.startApi({ DATABASE_URL: api.through(url) });
  await gateway.startWorker({ DATABASE_URL: worker.through(url) });
  project = await gateway.project({ credits: 1_000 });
  await runTask();
}, 120_000);
afterAll(async () => {
  await gateway?.stop();
  await Promise.all([api?.close(), worker?.close()]);
});

/** Runs one short image task, without polls by the client. */
async function runTask(): Promise<void> {
  const taskId = await gateway.accept(project.apiKey, mediaRoutes.image, { model: 'aurora-image-1', prompt: 'a fox' });
  await eventually(() =>
    gateway.database.returnsRow('', 'select 1 from task where id = $1 and completed_at is not null', [taskId]),
  );
}

const tasks = 8;
const perTask = (counts: Map<string, number>): Record<string, number> =>
  Object.fromEntries(
    [...counts].filter(([name, n]) => n >= tasks && !loops.includes(name)).map(([name, n]) => [name, n / tasks]),
  );

describe('a short image task', () => {
  it('costs its API server one statement and its worker five', async () => {
    api.take();
    worker.take();
    for (let n = 0; n < tasks; n++) await runTask();
    expect([perTask(api.take()), perTask(worker.take())]).toEqual([
      { create_tasks: 1 },
      { 'reserve-tasks': 1, start_attempt: 1, 'save-operation': 1, 'save-result': 1, 'finish-attempts': 1 },
    ]);
  });
});
