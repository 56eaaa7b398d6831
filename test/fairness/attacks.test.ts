import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { noise } from '../support/pictures.ts';
import { upload } from '../support/upload.ts';
import { callbacksUnderAttack, slowCallbacks } from './callbacks-under-attack.ts';
import { picturesBesideEndlessVideos } from './endless-videos.ts';
import { startKeyGuesses, workUntil } from './other-tenant.ts';

/** One gateway for three attacks, one after another. The endless videos come last, because they stay. */
let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ env: { ...slowCallbacks, POLL_INLINE_SECONDS: '1', POLL_INTERVAL_MAX_MS: '5000' } });
});
afterAll(() => gateway?.stop());

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

it('a receiver that hangs delays no callback of another project, neither the first try nor a retry', async () => {
  const { attacked, held } = await callbacksUnderAttack(gateway, { attackers: 50, samples: 1 });
  // The times at full size are in docs/ISOLATION.md. Here both tries came before any call to the receiver that hangs had ended:
  // such a receiver gets sixteen calls of one worker at most, and the seventeenth as soon as one of them ends.
  expect(attacked).toHaveLength(1);
  expect(held).toBe(16);
  expect(await gateway.verifyLedger()).toMatchObject({ ok: true });
});

it('videos that never end hold no place of a worker, and pictures of another project end as before', async () => {
  const { quiet, attacked, holding } = await picturesBesideEndlessVideos(gateway, { videos: 50, pictures: 20 });
  expect(holding).toBe(0);
  // The times at full size are in docs/ISOLATION.md.
  expect(attacked).toHaveLength(quiet.length);
  expect(await gateway.verifyLedger()).toMatchObject({ ok: true });
});
