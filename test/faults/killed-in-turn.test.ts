import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { startGateway, type Gateway } from '../support/gateway.ts';
import {
  countAttempts,
  endsOf,
  eventually,
  expectBooksInOrder,
  expectOneSubmitPerAttempt,
  imageCredits,
  insist,
} from './crowd.ts';

let gateway: Gateway;

beforeAll(async () => {
  gateway = await startGateway({
    workers: 0,
    env: { ATTEMPT_HEARTBEAT_TIMEOUT_SECONDS: '5' },
  });
});
afterAll(() => gateway.stop());

/** Starts a worker whose sessions in PostgreSQL have its name. */
async function startWorker(): Promise<string> {
  const url = new URL(gateway.env['DATABASE_LISTEN_URL'] ?? gateway.env['DATABASE_URL'] ?? '');
  const session = `of worker ${++workers}`;
  url.searchParams.set('application_name', session);
  const { name } = await gateway.startWorker({ DATABASE_URL: url.href });
  sessions.set(name, session);
  return name;
}
let workers = 0;
const sessions = new Map<string, string>();

/** PostgreSQL ends the statements that a killed process has sent. */
const sessionsEnd = (worker: string): Promise<void> =>
  eventually(60, async () => {
    const open = await gateway.database.query('', 'select from pg_stat_activity where application_name = $1', [
      sessions.get(worker),
    ]);
    return open.length === 0 || 'PostgreSQL still has sessions of the worker';
  });

const crowd = 30;

const submitsInFlight = (gateway: Gateway, projectId: string): Promise<{ id: string }[]> =>
  gateway.database.query(
    '',
    `select t.id from task t join attempt a on a.request_id = t.id
     where t.project_id = $1 and a.operation is null and a.outcome is null`,
    [projectId],
  );

describe('thirty running tasks', () => {
  it('all end with one submit and one charge while worker and API server are killed in turn; only submits in flight may fail', async () => {
    const credits = crowd * imageCredits;
    const { projectId, apiKey } = await gateway.project({ credits });
    let { baseUrl } = gateway;
    let worker = await startWorker();
    // Each client repeats its create until it is accepted.
    const clients = Array.from({ length: crowd }, async (_, index) => {
      await sleep(index * 20);
      return insist(gateway, apiKey, {
        prompt: `killed in turn, ${index} [[latency=5000]]`,
        key: `turn-${index}`,
        get baseUrl() {
          return baseUrl;
        },
      });
    });
    const running = (count: number) =>
      eventually(90, async () => {
        const n = await countAttempts(gateway, projectId, 'a.operation is not null');
        return n >= count || `${n} of ${count} jobs run`;
      });

    // The outcome of a submit that was in flight when its worker was killed cannot be determined.
    const inFlight = new Set<string>();
    const killWorker = async (name: string): Promise<void> => {
      await gateway.kill(name);
      await sessionsEnd(name);
      for (const { id } of await submitsInFlight(gateway, projectId)) inFlight.add(id);
    };

    await running(15);
    await killWorker(worker);
    worker = await startWorker();
    await gateway.kill('api-1');
    ({ baseUrl } = await gateway.startApi());
    // Tasks whose submit was in flight do not run again.
    await running(Math.min(24, crowd - inFlight.size));
    await killWorker(worker);
    await startWorker();
    await gateway.kill('api-2');
    ({ baseUrl } = await gateway.startApi());

    const taskIds = await Promise.all(clients);
    const ends = await endsOf(gateway, projectId);
    expect(ends.map(({ id }) => id).sort()).toEqual([...taskIds].sort());
    const succeeded = ends.filter(({ status }) => status === 'succeeded');
    const others = ends.filter(({ status }) => status !== 'succeeded');
    expect(
      others.filter(({ id, errorCode: code }) => code !== 'upstream_outcome_unknown' || !inFlight.has(id)),
    ).toEqual([]);
    expect(succeeded.length).toBeGreaterThanOrEqual(crowd - inFlight.size);
    expect(await expectOneSubmitPerAttempt(gateway, 'killed in turn')).toBeLessThanOrEqual(crowd);
    await expectBooksInOrder(gateway, { projectId, credits });
  });
});
