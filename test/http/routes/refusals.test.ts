import { afterAll, beforeAll } from '@jest/globals';
import { describePrivateOutput } from '../../journeys/private-output.ts';
import { startGateway, type Gateway } from '../../support/gateway.ts';
import { describeBadInput } from './bad-input.ts';
import { describeChatBadInput } from './chat-bad-input.ts';
import { describeTellingRefusals } from './telling-refusals.ts';

let gateway: Gateway;
beforeAll(async () => {
  // Private addresses are refused, as in production. Without a worker, no task that a test creates is processed, until the last group starts one.
  gateway = await startGateway({ workers: 0, env: { EGRESS_ALLOW_CIDRS: '' } });
});
afterAll(() => gateway?.stop());

describeBadInput(() => gateway);
describeChatBadInput(() => gateway);
describeTellingRefusals(() => gateway);
describePrivateOutput(() => gateway);
