import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startGateway, type Gateway } from '../support/gateway.ts';
import {
  countAttempts,
  endsOf,
  eventually,
  expectBooksInOrder,
  expectOneSubmitPerAttempt,
  isRunning,
  tryCreate,
} from './crowd.ts';
import { ownTemporal, type OwnServer } from './own-servers.ts';

let temporal: OwnServer;
let gateway: Gateway;

beforeAll(async () => {
  temporal = await ownTemporal();
  // The one namespace that a server with an empty database has by itself.
  gateway = await startGateway({ env: { TEMPORAL_NAMESPACE: 'default', ATTEMPT_HEARTBEAT_TIMEOUT_SECONDS: '3' } });
});
afterAll(async () => {
  await gateway?.stop();
  await temporal?.close();
});

let replacing: Promise<unknown> | undefined;
/** What a supervisor does: when no worker is left, it starts one. */
function replaceDeadWorkers(): Promise<unknown> {
  const workers = Object.entries(gateway.pids()).filter(([name]) => name.startsWith('worker'));
  if (workers.some(([, pid]) => isRunning(pid))) return Promise.resolve();
  replacing ??= gateway.startWorker().finally(() => (replacing = undefined));
  return replacing;
}

describe('while Temporal is away', () => {
  it('creates are accepted as ever, and their tasks finish once it is back', async () => {
    const { projectId, apiKey } = await gateway.project({ credits: 1_000 });
    await temporal.stop();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        tryCreate(gateway, apiKey, { prompt: `temporal is away, ${index} [[latency=50]]`, key: `away-${index}` }),
      ),
    );
    expect(answers.map((answer) => answer?.status)).toEqual(answers.map(() => 202));
    expect(await countAttempts(gateway, projectId, 'true')).toBe(0);
    await temporal.start();
    await replaceDeadWorkers();

    const ends = await endsOf(gateway, projectId);
    expect(ends.map(({ status }) => status)).toEqual(answers.map(() => 'succeeded'));
    expect(await expectOneSubmitPerAttempt(gateway, 'temporal is away')).toBe(20);
    await expectBooksInOrder(gateway, { projectId, credits: 1_000 });
  });
});

describe('when the database of Temporal is lost', () => {
  it('every running task goes on with the job that it bought, and ends once', async () => {
    const { projectId, apiKey } = await gateway.project({ credits: 1_000 });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        tryCreate(gateway, apiKey, { prompt: `temporal is lost, ${index} [[latency=6000]]`, key: `lost-${index}` }),
      ),
    );
    expect(answers.map((answer) => answer?.status)).toEqual(answers.map(() => 202));
    await eventually(
      20,
      async () => (await countAttempts(gateway, projectId, 'a.operation is not null')) >= 10 || 'too few jobs run',
    );
    await temporal.stop();
    await temporal.start({ wiped: true });
    // It may find that its namespace is another one now, and end: then a supervisor starts it again.
    const supervised = setInterval(() => void replaceDeadWorkers().catch(() => undefined), 1_000);
    try {
      const ends = await endsOf(gateway, projectId);
      expect(ends.map(({ status }) => status)).toEqual(answers.map(() => 'succeeded'));
    } finally {
      clearInterval(supervised);
      await replacing?.catch(() => undefined);
    }
    expect(await expectOneSubmitPerAttempt(gateway, 'temporal is lost')).toBe(20);
    await expectBooksInOrder(gateway, { projectId, credits: 1_000 });
  });
});
