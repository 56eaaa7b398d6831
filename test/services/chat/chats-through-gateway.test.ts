import { afterAll, beforeAll } from '@jest/globals';
import { describeLostSettlement } from '../../faults/lost-settlement.ts';
import { startGateway, type Gateway } from '../../support/gateway.ts';
import { describeCompleteChat } from './complete-chat.ts';
import { describeEndReasons } from './end-reasons.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({
    workers: 0,
    env: {
      CHAT_ATTEMPT_TIMEOUT_SECONDS: '20',
      CHAT_DEADLINE_SECONDS: '60',
      IDEMPOTENT_BODY_MAX_BYTES: '1500',
      RETRIES_PER_MINUTE_MIN: '1000',
      RATE_LIMIT_REST_MAX_SECONDS: '1',
      // Channels that fail in one test must be available in the next. test/faults/failing-channels.test.ts covers the circuit breaker.
      BREAKER_FAILURES_MAX: '1000',
      BREAKER_OPEN_SECONDS: '0',
      BREAKER_PROBE_SECONDS: '0',
      ACCOUNT_REST_SECONDS: '0',
    },
  });
});
afterAll(() => gateway?.stop());

describeCompleteChat(() => gateway);
describeEndReasons(() => gateway);
describeLostSettlement(() => gateway);
