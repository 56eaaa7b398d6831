import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { noise } from '../support/pictures.ts';
import { upload } from '../support/upload.ts';
import { startKeyGuesses, workUntil } from './other-tenant.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.stop());

it('a flood of requests with random keys is refused, while every request of a project succeeds', async () => {
  const project = await gateway.project({ credits: 100_000 });
  const { url } = await upload({ baseUrl: gateway.baseUrl, apiKey: project.apiKey }, await noise(200));
  const guesses = startKeyGuesses(gateway.baseUrl, 50);
  try {
    // 401, and 429 once the address has failed too often.
    const refused = (): number => (guesses.seen()[401] ?? 0) + (guesses.seen()[429] ?? 0);
    const times = await workUntil(gateway, { project, fileUrl: url, clients: 2, isOver: () => refused() > 100 });
    expect(times.chat.length).toBeGreaterThanOrEqual(2);
    expect(Object.keys(guesses.seen()).filter((status) => status !== '401' && status !== '429')).toEqual([]);
  } finally {
    await guesses.stop();
  }
});
