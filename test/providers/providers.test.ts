import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import { startGateway, type Gateway } from '../support/gateway.ts';
import type { ProviderScene } from './provider-scene.ts';
import { startScriptedProvider, type ScriptedProvider } from './scripted-provider.ts';
import { describeErrorsInside } from './errors-inside.ts';
import { describeReportedRefusals } from './reported-refusals.ts';
import { describeVendorFields } from './vendor-fields.ts';

/** One gateway for all tables of what providers are sent and what they answer. Every channel leads to the scripted provider. */
let gateway: Gateway;
let provider: ScriptedProvider;
let scene: ProviderScene;
beforeAll(async () => {
  provider = await startScriptedProvider();
  gateway = await startGateway({
    workers: 0,
    sandbox: false,
    env: {
      RETRIES_PER_MINUTE_MIN: '1000',
      // Channels that fail in one test must be available in the next.
      BREAKER_FAILURES_MAX: '1000',
      BREAKER_OPEN_SECONDS: '0',
      BREAKER_PROBE_SECONDS: '0',
    },
  });
  await gateway.database.query('test-lead', 'update channel set base_url = $1, enabled = (name like $2)', [
    provider.url,
    'sandbox-a%',
  ]);
  const { apiKey } = await gateway.project({ credits: 10_000_000 });
  scene = { gateway, apiKey, provider };
});
afterAll(async () => {
  await gateway?.stop();
  await provider?.close();
});
beforeEach(() => provider.serve());

describeVendorFields(() => scene);
describeReportedRefusals(() => scene);
describeErrorsInside(() => scene);
