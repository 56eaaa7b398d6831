import { afterAll, beforeAll } from '@jest/globals';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { describeDetailRecorder } from './details/detail-recorder.ts';
import { describeInputsForUpstream } from './tasks/inputs-for-upstream.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ env: { BOOKS_LAG_SECONDS: '0' } });
});
afterAll(() => gateway?.stop());

describeDetailRecorder(() => gateway);
describeInputsForUpstream(() => gateway);
