import { afterAll, beforeAll } from '@jest/globals';
import { describeApiKilled } from '../faults/api-killed.ts';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { describeCredits } from './credits.ts';
import { describeHappyTask } from './happy-task.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ apis: 2 });
});
afterAll(() => gateway?.stop());

describeHappyTask(() => gateway);
describeCredits(() => gateway);
describeApiKilled(() => gateway);
