import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Tollgate } from '../../packages/tollgate-js/src/index.ts';
import { watchPolls } from '../sdk/watch-polls.ts';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { accountOf } from '../support/rows.ts';

const tasksMax = 1_000;

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ env: { HTTP_IN_FLIGHT_MAX: '2000' } });
});
afterAll(() => gateway?.stop());

/** Waits for 1,000 tasks at the same time on this API server. */
async function waitForAll(baseUrl: string): Promise<void> {
  const { projectId, apiKey } = await gateway.project({ credits: 1_000_000 });
  const polls = watchPolls();
  const client = new Tollgate({ baseUrl, apiKey, fetch: polls.fetch, retriesMax: 20 });
  const tasks = await Promise.all(
    Array.from({ length: tasksMax }, (_, n) =>
      client.createAndWait('image', { model: 'aurora-image-1', prompt: `a red fox ${n}` }),
    ),
  );
  say(`${tasksMax} tasks ended after ${polls.requests()} requests`);
  expect(tasks.filter(({ status }) => status !== 'succeeded')).toEqual([]);
  expect(new Set(tasks.map(({ task_id: id }) => id)).size).toBe(tasksMax);
  expect(polls.early).toEqual([]);
  const charged = tasks.reduce((sum, { credits }) => sum + credits.charged, 0);
  expect(await accountOf(gateway.database, projectId)).toEqual({ balance: 1_000_000 - charged, reserved: 0 });
  expect(await gateway.verifyLedger()).toMatchObject({ ok: true });
}

describe('createAndWait for 1,000 tasks at once', () => {
  it('ends for all, and sends no request before the server allows it', () => waitForAll(gateway.baseUrl), 1_800_000);

  it('does so where the server holds the answers to a fifth of them', async () => {
    const { baseUrl } = await gateway.startApi({ TASK_WAITS_MAX: '200' });
    await waitForAll(baseUrl);
  }, 1_800_000);
});

const say = (text: string): void => void process.stdout.write(`${text}\n`);
