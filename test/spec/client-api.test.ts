import { afterAll, beforeAll } from '@jest/globals';
import { quickCallbacks } from '../services/callbacks/receiver.ts';
import { describeDocumentedRequests } from '../docs/documented-requests.ts';
import { describeClientNames } from '../http/routes/client-names.ts';
import { describeLegacy } from '../http/routes/legacy.ts';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { describeEndpoints } from './endpoints.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ env: quickCallbacks });
});
afterAll(() => gateway?.stop());

// First, because the other tests make channels fail.
describeDocumentedRequests(() => gateway);
describeClientNames(() => gateway);
describeEndpoints(() => gateway);
describeLegacy(() => gateway);
