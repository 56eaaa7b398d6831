import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { callbacksUnderAttack, slowCallbacks } from './callbacks-under-attack.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ env: slowCallbacks });
});
afterAll(() => gateway.stop());

it('a receiver that hangs delays no callback of another project, neither the first try nor a retry', async () => {
  const { attacked, held } = await callbacksUnderAttack(gateway, { attackers: 100, samples: 1 });
  // The times at full size are in docs/ISOLATION.md. Here both tries came before any call to the receiver that hangs had ended:
  // such a receiver gets sixteen calls of one worker at most, and the seventeenth as soon as one of them ends.
  expect(attacked).toHaveLength(1);
  expect(held).toBe(16);
  expect(await gateway.verifyLedger()).toMatchObject({ ok: true });
});
