import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chatUntil, keepOnlyChannel, sendPrompts, troubles } from '../fairness/prompts-under-attack.ts';
import { p95 } from '../fairness/other-tenant.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { recordMeasurements } from './results.ts';

const attack = { perSecond: 20, seconds: 60 };

let gateway: Gateway;
let attacker: TestProject;
let victim: TestProject;
beforeAll(async () => {
  gateway = await startGateway({ workers: 0 });
  await keepOnlyChannel(gateway);
  [attacker, victim] = await Promise.all([
    gateway.project({ credits: 1_000_000 }),
    gateway.project({ credits: 1_000_000 }),
  ]);
});
afterAll(() => gateway?.stop());

const clients = { clients: 4, pauseMs: 200 };
const chatFor = (seconds: number) => {
  const until = performance.now() + seconds * 1_000;
  return chatUntil(gateway, { from: victim, ...clients, isOver: () => performance.now() > until });
};

describe('another project on the only channel, at full size', () => {
  it('has no error and is at most 1.5 times and 50 ms slower while one project has flagged and slow prompts', async () => {
    // Once unmeasured, so that caches and connections are warm.
    await chatFor(5);
    const quiet = await chatFor(30);
    let over = false;
    const attacking = sendPrompts(gateway, {
      from: attacker,
      ...attack,
      scripts: ['fail=flagged', 'fail=hang', 'fail=forbidden', 'fail=hang'],
    }).finally(() => (over = true));
    const attacked = await chatUntil(gateway, { from: victim, ...clients, isOver: () => over });
    console.log('verdicts of the attack', JSON.stringify(await attacking), 'chats', attacked.times.length);
    await recordMeasurements('20 flagged or slow prompts a second for a minute', [
      { request: 'chat', quietMs: p95(quiet.times), attackedMs: p95(attacked.times) },
    ]);
    expect(attacked.verdicts).toEqual({ '200 after 1': attacked.times.length });
    expect(troubles(gateway)).toBe(0);
    expect(p95(attacked.times)).toBeLessThanOrEqual(1.5 * p95(quiet.times) + 50);
    expect(await gateway.verifyLedger()).toMatchObject({ ok: true });
  });
});
