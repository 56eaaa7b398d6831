import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startGateway, type Gateway } from '../support/gateway.ts';
import {
  countAttempts,
  endsOf,
  eventually,
  expectBooksInOrder,
  expectOneSubmitPerAttempt,
  insist,
  isRunning,
  tryCreate,
} from './crowd.ts';
import { ownTemporal, type OwnServer } from './own-servers.ts';

let temporal: OwnServer;
let gateway: Gateway;

beforeAll(async () => {
  temporal = await ownTemporal();
  // A Temporal server with an empty database has only this namespace.
  gateway = await startGateway({
    env: { TEMPORAL_NAMESPACE: 'default', ATTEMPT_HEARTBEAT_TIMEOUT_SECONDS: '3', POLL_INLINE_SECONDS: '3' },
  });
});
afterAll(async () => {
  await gateway?.stop();
  await temporal?.close();
});

let replacing: Promise<unknown> | undefined;
/** Starts a worker if none is running, as a supervisor does. */
function replaceDeadWorkers(): Promise<unknown> {
  const workers = Object.entries(gateway.pids()).filter(([name]) => name.startsWith('worker'));
  if (workers.some(([, pid]) => isRunning(pid))) return Promise.resolve();
  replacing ??= gateway.startWorker().finally(() => (replacing = undefined));
  return replacing;
}

describe('while Temporal is down', () => {
  it('creates are accepted, and their tasks finish after Temporal is back', async () => {
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

describe('after Temporal has lost its database', () => {
  it('every running task continues with its submitted job and ends once', async () => {
    const { projectId, apiKey } = await gateway.project({ credits: 1_000 });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        tryCreate(gateway, apiKey, { prompt: `temporal is lost, ${index} [[latency=8000]]`, key: `lost-${index}` }),
      ),
    );
    expect(answers.map((answer) => answer?.status)).toEqual(answers.map(() => 202));
    await eventually(
      60,
      async () => (await countAttempts(gateway, projectId, 'a.operation is not null')) >= 10 || 'too few jobs run',
    );
    await temporal.stop();
    await temporal.start({ wiped: true });
    // A worker may exit because the namespace has a new id. A supervisor then starts it again.
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

  it('every parked job is collected by a new workflow and ends its task once', async () => {
    const { projectId, apiKey } = await gateway.project({ credits: 1_000 });
    await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        insist(gateway, apiKey, {
          prompt: `parked without temporal, ${index} [[latency=15000]]`,
          key: `parked-${index}`,
        }),
      ),
    );
    await eventually(
      60,
      async () =>
        // On a slow machine the first has ended when the last is parked.
        (await countAttempts(gateway, projectId, '(a.next_poll_at is not null or a.outcome is not null)')) === 10 ||
        'too few are parked',
    );
    await temporal.stop();
    await temporal.start({ wiped: true });
    const supervised = setInterval(() => void replaceDeadWorkers().catch(() => undefined), 1_000);
    try {
      const ends = await endsOf(gateway, projectId);
      expect(ends.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 'succeeded'));
    } finally {
      clearInterval(supervised);
      await replacing?.catch(() => undefined);
    }
    expect(await expectOneSubmitPerAttempt(gateway, 'parked without temporal')).toBe(10);
    await expectBooksInOrder(gateway, { projectId, credits: 1_000 });
  });
});
