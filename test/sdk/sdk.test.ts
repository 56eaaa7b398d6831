import { afterAll, beforeAll } from '@jest/globals';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { describeAiSdk } from './ai-sdk.ts';
import { startClientPage, type ClientPage } from './client-page.ts';
import { describeGoogleGenai } from './google-genai.ts';
import { describeGoogleGenaiV1 } from './google-genai-v1.ts';
import { describeMcp } from './mcp.ts';
import { describeOpenai } from './openai.ts';
import { describeOpenaiV1 } from './openai-v1.ts';
import { describeStreaming } from './streaming.ts';
import { describeTollgateJs } from './tollgate-js.ts';
import { describeTollgateJsInPages } from './tollgate-js-in-pages.ts';

/** One gateway for all client libraries, because its start takes longer than the tests of one library. */
let gateway: Gateway;
let clientPage: ClientPage;
beforeAll(async () => {
  clientPage = await startClientPage();
  gateway = await startGateway({ env: { RATE_LIMIT_REST_SECONDS: '12', CORS_ORIGINS: clientPage.origin } });
});
afterAll(async () => {
  await clientPage?.close();
  await gateway?.stop();
});

describeTollgateJs(() => gateway);
describeTollgateJsInPages(() => ({ gateway, clientPage }));
describeAiSdk(() => gateway);
describeGoogleGenai(() => gateway);
describeGoogleGenaiV1(() => gateway);
describeMcp(() => gateway);
describeOpenaiV1(() => gateway);
describeOpenai(() => gateway);
describeStreaming(() => gateway);
