import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { callbacksUnderAttack, slowCallbacks, type CallbackTimes } from '../fairness/callbacks-under-attack.ts';
import { p95 } from '../fairness/other-tenant.ts';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { recordMeasurements } from './results.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ env: slowCallbacks });
});
afterAll(() => gateway.stop());

it('a callback arrives within a second of its quiet time while 2,000 callbacks wait for a receiver that hangs', async () => {
  const { calm, attacked } = await callbacksUnderAttack(gateway, { attackers: 2_000, samples: 20 });
  const measured = (['first', 'retry'] as const).map((which) => {
    const of = (times: CallbackTimes[]): number => p95(times.map((time) => time[which]));
    const request = which === 'first' ? 'callback, first try after the end' : 'callback, second try after the first';
    return { request, quietMs: of(calm), attackedMs: of(attacked) };
  });
  await recordMeasurements('2,000 callbacks to a receiver that hangs', measured);
  expect(measured.filter(({ quietMs, attackedMs }) => attackedMs > quietMs + 1_000)).toEqual([]);
});
