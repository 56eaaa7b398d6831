import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { mediaRoutes } from '../support/api-client.ts';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { chooseOwnPort } from '../support/own-port.ts';
import {
  countAttempts,
  endsOf,
  eventually,
  expectBooksInOrder,
  expectOneSubmitPerAttempt,
  insist,
  tryCreate,
} from './crowd.ts';

let gateway: Gateway;
/** The API server that keeps running. */
let otherApi: string;
/** Of the second worker. */
let healthPort: number;

beforeAll(async () => {
  gateway = await startGateway({
    apis: 2,
    env: { SHUTDOWN_READY_DELAY_SECONDS: '20' },
  });
  otherApi = gateway.baseUrls.find((url) => url !== gateway.baseUrl)!;
  healthPort = await chooseOwnPort();
});
afterAll(() => gateway.stop());

const crowd = 25;

describe('SIGTERM under load', () => {
  it('makes an API server report not ready, and it accepts every create during the ready delay', async () => {
    const { projectId, apiKey } = await gateway.project({ credits: 1_000 });
    let stopped: Promise<void> | undefined;
    let notReady: Promise<void> | undefined;
    const readyz = async (url: string): Promise<number> => (await fetch(`${url}/readyz`)).status;
    const answers = await Promise.all(
      Array.from({ length: crowd }, async (_, index) => {
        await sleep(index * 10);
        if (index === 10) {
          stopped = gateway.kill('api-1', 'SIGTERM');
          notReady = eventually(60, async () => (await readyz(gateway.baseUrl)) === 503 || '/readyz is not 503');
          // This promise is awaited below, after the creates.
          notReady.catch(() => undefined);
        }
        return tryCreate(gateway, apiKey, {
          prompt: `an API is stopped, ${index} [[latency=50]]`,
          key: `api-${index}`,
        });
      }),
    );
    await notReady;
    expect(await readyz(otherApi)).toBe(200);
    expect(answers.filter((answer) => answer?.status !== 202)).toEqual([]);

    const taskIds = answers.map((answer) => answer?.taskId);
    const ends = await endsOf(gateway, projectId);
    expect(ends.map(({ id, status }) => [id, status]).sort()).toEqual(taskIds.map((id) => [id, 'succeeded']).sort());
    expect(await expectOneSubmitPerAttempt(gateway, 'an API is stopped')).toBe(crowd);
    await stopped;
    await expectBooksInOrder(gateway, { projectId, credits: 1_000 });
  });

  it('makes a worker hand every task to the next worker, which continues the jobs without a second submit', async () => {
    const { projectId, apiKey } = await gateway.project({ credits: 1_000 });
    const taskIds = await Promise.all(
      Array.from({ length: crowd }, (_, index) =>
        insist(gateway, apiKey, {
          prompt: `a worker is stopped, ${index} [[latency=20000]]`,
          key: `worker-${index}`,
          baseUrl: otherApi,
        }),
      ),
    );
    await eventually(
      60,
      async () => (await countAttempts(gateway, projectId, 'a.operation is not null')) >= 15 || 'too few jobs run',
    );
    const next = gateway.startWorker({ WORKER_HEALTH_PORT: String(healthPort) });
    await gateway.kill('worker-1', 'SIGTERM');
    await next;

    const ends = await endsOf(gateway, projectId);
    expect(ends.map(({ id, status }) => [id, status]).sort()).toEqual(taskIds.map((id) => [id, 'succeeded']).sort());
    expect(await expectOneSubmitPerAttempt(gateway, 'a worker is stopped')).toBe(crowd);
    await expectBooksInOrder(gateway, { projectId, credits: 1_000 });
  });

  it('makes a worker deliver the synchronous pictures that are in flight and begin nothing new, without an alarm', async () => {
    const { projectId, apiKey } = await gateway.project({ credits: 1_000 });
    const picture = (prompt: string) =>
      gateway.accept(
        apiKey,
        mediaRoutes.image,
        { model: 'gpt-image-2.5', prompt: `${prompt} [[latency=20000]]` },
        { baseUrl: otherApi },
      );
    const inFlight = await Promise.all([1, 2, 3].map((n) => picture(`in flight at the release ${n}`)));
    const submits = async (text: string) => (await gateway.hits(text, 'submit')).length;
    await eventually(60, async () => (await submits('in flight at the release')) === 3 || 'too few submits');
    const [worker = ''] = Object.keys(gateway.pids())
      .filter((name) => name.startsWith('worker'))
      .slice(-1);
    // The grace of 2 s is over long before the provider answers.
    const stopped = gateway.kill(worker, 'SIGTERM');
    const isStopping = async () => (await fetch(`http://127.0.0.1:${healthPort}/readyz`)).status === 503;
    await eventually(60, async () => (await isStopping()) || 'the worker does not stop');
    const later = await picture('created during the release');
    await stopped;

    const statusOf = async (taskId: string) =>
      (await gateway.get(apiKey, `/api/v1/tasks/${taskId}`, { baseUrl: otherApi })).body['status'];
    expect(await gateway.exited(worker)).toBe('code 0');
    expect(await Promise.all(inFlight.map(statusOf))).toEqual(inFlight.map(() => 'succeeded'));
    expect([await statusOf(later), await submits('created during the release')]).toEqual(['queued', 0]);
    const log = (await readFile(join(gateway.logFolder, `${worker}.log`), 'utf8')).split('\n');
    expect(log.filter((line) => /"level":"(error|fatal)"|still in use/.test(line))).toEqual([]);

    await gateway.startWorker();
    const ends = await endsOf(gateway, projectId);
    expect(ends.map(({ status }) => status)).toEqual(ends.map(() => 'succeeded'));
    expect(await submits('the release')).toBe(4);
    await expectBooksInOrder(gateway, { projectId, credits: 1_000 });
  });

  it('makes an API server answer the requests that wait for tasks at once, and end their event streams', async () => {
    const { name, baseUrl } = await gateway.startApi({ SHUTDOWN_READY_DELAY_SECONDS: '0' });
    const { apiKey } = await gateway.project();
    const slow = { model: 'aurora-image-1', prompt: 'a slow fox [[latency=60000]]' };
    const taskId = await gateway.accept(apiKey, mediaRoutes.image, slow, { baseUrl });
    const path = `/api/v1/tasks/${taskId}`;
    const stream = await fetch(`${baseUrl}${path}/events`, { headers: { authorization: `Bearer ${apiKey}` } });
    const waiting = gateway.get(apiKey, `${path}?wait=60`, { baseUrl });
    // Once this later request is answered, the server has the one before it.
    await gateway.get(apiKey, path, { baseUrl });

    await gateway.kill(name, 'SIGTERM');

    const { status, body } = await waiting;
    expect([status, body['task_id']]).toEqual([200, taskId]);
    expect(['queued', 'processing']).toContain(body['status']);
    const events = await stream.text();
    expect(events).toContain('event: task.updated');
    expect(events).not.toContain('event: task.succeeded');
    await gateway.create(apiKey, `${path}/cancel`, '', { baseUrl: otherApi });
  });
});
