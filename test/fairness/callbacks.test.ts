import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { callbacksUnderAttack, slowCallbacks } from './callbacks-under-attack.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ env: slowCallbacks });
});
afterAll(() => gateway.stop());

it('a receiver that hangs delays no callback of another project, neither the first try nor a retry', async () => {
  const { calm, attacked, held } = await callbacksUnderAttack(gateway, { attackers: 100, samples: 1 });
  // A call to the receiver that hangs ends after a minute. The exact times at full size are in docs/ISOLATION.md.
  const slowerMs = 10_000;
  expect(attacked[0]?.first).toBeLessThan((calm[0]?.first ?? 0) + slowerMs);
  expect(attacked[0]?.retry).toBeLessThan((calm[0]?.retry ?? 0) + slowerMs);
  // The bound itself: a receiver never holds more than sixteen calls of one worker.
  expect(held).toBeLessThanOrEqual(16);
  expect(await gateway.verifyLedger()).toMatchObject({ ok: true });
});
