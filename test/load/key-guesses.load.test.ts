import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { p95, startKeyGuesses, workUntil, type Action } from '../fairness/other-tenant.ts';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { noise } from '../support/pictures.ts';
import { upload } from '../support/upload.ts';
import { recordMeasurements } from './results.ts';

const seconds = 20;
const actions: readonly Action[] = ['chat', 'create', 'poll', 'download'];

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.stop());

it('a project is at most 1.5 times and 50 ms slower while 1,000 requests a second have random keys', async () => {
  const project = await gateway.project({ credits: 1_000_000 });
  const { url } = await upload({ baseUrl: gateway.baseUrl, apiKey: project.apiKey }, await noise(200));
  const work = () => {
    const until = Date.now() + seconds * 1_000;
    return workUntil(gateway, { project, fileUrl: url, clients: 4, isOver: () => Date.now() > until });
  };
  // Once unmeasured, so that caches and connections are warm.
  await work();
  const quiet = await work();
  const guesses = startKeyGuesses(gateway.baseUrl, 1_000);
  try {
    const attacked = await work();
    await recordMeasurements(
      '1,000 requests a second with random keys',
      actions.map((request) => ({ request, quietMs: p95(quiet[request]), attackedMs: p95(attacked[request]) })),
    );
    expect(actions.filter((action) => p95(attacked[action]) > 1.5 * p95(quiet[action]) + 50)).toEqual([]);
  } finally {
    await guesses.stop();
  }
});
