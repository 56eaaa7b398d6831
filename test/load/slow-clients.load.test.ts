import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { p95, startSlowClients, workUntil, type Action, type Times } from '../fairness/other-tenant.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { noise } from '../support/pictures.ts';
import { upload } from '../support/upload.ts';
import { recordMeasurements } from './results.ts';

/** How long each measurement takes: longer than a slow reader is left alone. */
const SECONDS = 30;

let gateway: Gateway;
let attacker: TestProject;
let victim: TestProject;
beforeAll(async () => {
  gateway = await startGateway();
  [attacker, victim] = [await gateway.project(), await gateway.project({ credits: 1_000_000 })];
});
afterAll(() => gateway.stop());

const urlOf = async ({ apiKey }: TestProject, side: number): Promise<string> =>
  (await upload({ baseUrl: gateway.baseUrl, apiKey }, await noise(side))).url;

const workFor = (fileUrl: string): Promise<Times> => {
  const until = Date.now() + SECONDS * 1_000;
  return workUntil(gateway, { project: victim, fileUrl, clients: 4, isOver: () => Date.now() > until });
};

describe('another project, at full size', () => {
  it('succeeds at everything, at most 1.5 times and 50 ms slower, while one project has slow clients', async () => {
    const fileUrl = await urlOf(victim, 200);
    const largeUrl = await urlOf(attacker, 1_600);
    const none = { uploads: 0, bodies: 0, readers: 0 };
    const attacks = {
      '500 uploads at 100 bytes a second': { ...none, uploads: 500 },
      '64 chats whose body of 4 MB stalls': { ...none, bodies: 64 },
      '10,000 readers of one signed URL at 100 bytes a second': { ...none, readers: 10_000 },
    };
    // Once unmeasured, so that caches and connections are warm.
    await workFor(fileUrl);
    const tooSlow: string[] = [];
    for (const [name, counts] of Object.entries(attacks)) {
      // Before each attack, because other work on the machine changes.
      const quiet = await workFor(fileUrl);
      const slow = startSlowClients({
        ...counts,
        baseUrl: gateway.baseUrl,
        apiKey: attacker.apiKey,
        fileUrl: largeUrl,
      });
      try {
        // All of them have come.
        await sleep(12_000);
        const attacked = await workFor(fileUrl);
        await recordMeasurements(
          name,
          actions.map((request) => ({ request, quietMs: p95(quiet[request]), attackedMs: p95(attacked[request]) })),
        );
        const isSlow = (action: Action): boolean => p95(attacked[action]) > 1.5 * p95(quiet[action]) + 50;
        tooSlow.push(...actions.filter(isSlow).map((action) => `${action}: ${name}`));
      } finally {
        await slow.stop();
      }
    }
    expect(tooSlow).toEqual([]);
  });
});

const actions: readonly Action[] = ['chat', 'create', 'poll', 'download'];
