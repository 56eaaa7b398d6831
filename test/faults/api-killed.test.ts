import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { endsOf, expectBooksInOrder, expectOneSubmitPerAttempt, insist, tryCreate } from './crowd.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ apis: 2 });
});
afterAll(() => gateway?.stop());

/** The API server that keeps running. */
let otherApi: string;

/** Tests of creates whose API server is killed. The gateway must have two API servers. The first one is gone afterwards. */
describe('killed API servers', () => {
  beforeAll(() => {
    otherApi = gateway.baseUrls.find((url) => url !== gateway.baseUrl)!;
  });

  describe('an API server that is killed during creates', () => {
    it('loses no acknowledged task, and a retry with the same key finds the task at every point of interruption', async () => {
      const { projectId, apiKey } = await gateway.project({ credits: 1_000 });
      const acknowledged = new Map<string, string>();
      const killed = Promise.withResolvers<void>();
      const first = Array.from({ length: crowd }, async (_, index) => {
        // All creates go to the API server that is killed. They arrive one by one, so that the kill meets each step. The last
        // ones start after the kill.
        await (index < crowd - 10 ? sleep(index * 5) : killed.promise);
        const answer = await tryCreate(gateway, apiKey, { ...member(index), baseUrl: gateway.baseUrl });
        if (answer === null) return;
        expect(answer.status).toBe(202);
        acknowledged.set(member(index).key, answer.taskId);
        if (acknowledged.size === 8) {
          await gateway.kill('api-1');
          killed.resolve();
        }
      });
      await Promise.all(first);
      expect(acknowledged.size).toBeGreaterThanOrEqual(8);
      expect(acknowledged.size).toBeLessThan(crowd);

      const retried = await Promise.all(
        Array.from({ length: crowd }, (_, index) => insist(gateway, apiKey, { ...member(index), baseUrl: otherApi })),
      );
      for (const [key, taskId] of acknowledged) expect([key, retried[Number(key.slice(5))]]).toEqual([key, taskId]);
      expect(new Set(retried).size).toBe(crowd);

      const ends = await endsOf(gateway, projectId);
      expect(ends.map(({ id }) => id).sort()).toEqual([...retried].sort());
      expect(ends.filter(({ status }) => status !== 'succeeded')).toEqual([]);
      expect(await expectOneSubmitPerAttempt(gateway, 'a crowd of clients')).toBe(crowd);
      await expectBooksInOrder(gateway, { projectId, credits: 1_000 });
    });

    it('leaves no task undecided if no client retries', async () => {
      const { projectId, apiKey } = await gateway.project({ credits: 1_000 });
      const { name, baseUrl } = await gateway.startApi();
      let answered = 0;
      await Promise.all(
        Array.from({ length: 25 }, async (_, index) => {
          const answer = await tryCreate(gateway, apiKey, {
            prompt: `no retry follows, ${index} [[latency=50]]`,
            key: `alone-${index}`,
            baseUrl,
          });
          if (answer !== null && ++answered === 3) await gateway.kill(name);
        }),
      );
      const ends = await endsOf(gateway, projectId);
      expect(ends.length).toBeGreaterThanOrEqual(3);
      expect(ends.filter(({ status }) => status !== 'succeeded')).toEqual([]);
      expect(await expectOneSubmitPerAttempt(gateway, 'no retry follows')).toBe(ends.length);
      await expectBooksInOrder(gateway, { projectId, credits: 1_000 });
    });
  });
});
const crowd = 40;
const member = (index: number) => ({ prompt: `a crowd of clients, ${index} [[latency=50]]`, key: `door-${index}` });
