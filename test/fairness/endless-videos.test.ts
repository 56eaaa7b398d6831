import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { picturesBesideEndlessVideos } from './endless-videos.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ env: { POLL_INLINE_SECONDS: '1', POLL_INTERVAL_MAX_MS: '5000' } });
});
afterAll(() => gateway.stop());

it('videos that never end hold no place of a worker, and pictures of another project end as before', async () => {
  const { quiet, attacked, holding } = await picturesBesideEndlessVideos(gateway, { videos: 100, pictures: 20 });
  expect(holding).toBe(0);
  // The times at full size are in docs/ISOLATION.md.
  expect(attacked).toHaveLength(quiet.length);
  expect(await gateway.verifyLedger()).toMatchObject({ ok: true });
});
