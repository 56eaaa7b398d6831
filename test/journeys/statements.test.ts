import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { isDeepStrictEqual } from 'node:util';
import { mediaRoutes } from '../support/api-client.ts';
import { startCountingProxy, type CountingProxy } from '../support/counting-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';

/** The statements of loops, caches and buffers, which run by the clock, whatever the number of tasks. */
const byTheClock = [
  'claim-unstarted',
  'claim_polls',
  'find-live-keys',
  'list-channels',
  'list-models',
  'list-tripped-channels',
  'oldest-unstarted',
  'restore-mark',
  'write-detail-rows',
  // Of the listener for changes.
  'select',
];

/** A sweep runs less often than a task of the test, and a create waits as long as it may for its workflow. */
const settings = { SWEEP_INTERVAL_SECONDS: '60', CREATE_WAIT_MS: '1500' };

let gateway: Gateway;
let project: TestProject;
let api: CountingProxy;
let worker: CountingProxy;

beforeAll(async () => {
  gateway = await startGateway({ apis: 0, workers: 0, env: settings });
  const url = gateway.env['DATABASE_URL'] ?? '';
  [api, worker] = (await Promise.all([1, 2].map(() => startCountingProxy(Number(new URL(url).port))))) as [
    CountingProxy,
    CountingProxy,
  ];
  await gateway.startApi({ DATABASE_URL: api.through(url) });
  await gateway.startWorker({ DATABASE_URL: worker.through(url) });
  project = await gateway.project({ credits: 1_000 });
  await runTask();
});
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

const counted = (proxy: CountingProxy): Record<string, number> =>
  Object.fromEntries([...proxy.take()].filter(([name]) => !byTheClock.includes(name)));

describe('a short image task', () => {
  it('costs its API server one statement and its worker six, of which the last announces the end', async () => {
    const expected = [
      { create_tasks: 1 },
      {
        'reserve-tasks': 1,
        start_attempt: 1,
        'save-operation': 1,
        'save-result': 1,
        'finish-attempts': 1,
        'announce-ends': 1,
      },
    ];
    let last: unknown;
    let asExpected = 0;
    // A step that is slow on a busy machine adds statements. Three tasks without such a step are enough.
    const isThrice = async () => {
      counted(api);
      counted(worker);
      await runTask();
      const ofWorker = counted(worker);
      const isAnnounced = () => Promise.resolve('announce-ends' in Object.assign(ofWorker, counted(worker)));
      await eventually(isAnnounced).catch(() => undefined);
      last = [counted(api), ofWorker];
      if (isDeepStrictEqual(last, expected)) asExpected += 1;
      return asExpected === 3;
    };
    await eventually(isThrice, { secondsMax: 200 }).catch(() => undefined);
    expect(last).toEqual(expected);
  });
});
