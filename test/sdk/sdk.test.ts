import { afterAll, beforeAll } from '@jest/globals';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { describeAiSdk } from './ai-sdk.ts';
import { describeGoogleGenai } from './google-genai.ts';
import { describeGoogleGenaiV1 } from './google-genai-v1.ts';
import { describeMcp } from './mcp.ts';
import { describeOpenai } from './openai.ts';
import { describeOpenaiV1 } from './openai-v1.ts';
import { describeStreaming } from './streaming.ts';
import { describeTollgateJs } from './tollgate-js.ts';

/** One gateway for all client libraries, because its start takes longer than the tests of one library. */
let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ env: { RATE_LIMIT_REST_SECONDS: '12' } });
});
afterAll(() => gateway?.stop());

describeTollgateJs(() => gateway);
describeAiSdk(() => gateway);
describeGoogleGenai(() => gateway);
describeGoogleGenaiV1(() => gateway);
describeMcp(() => gateway);
describeOpenaiV1(() => gateway);
describeOpenai(() => gateway);
describeStreaming(() => gateway);
