import { once } from 'node:events';
import { expect, it } from '@jest/globals';
import { within } from '../../src/platform/pause.ts';
import { openSocketPair } from './socket-pair.ts';

it('takes an answer that arrived in time, though the process paused until after it', async () => {
  const { client, peer, close } = await openSocketPair();
  const answer = within(50, once(client, 'data'));
  peer.write('in time');
  for (const wakesAt = performance.now() + 60; performance.now() < wakesAt;);
  expect(String(await answer)).toBe('in time');
  close();
});

it('gives up work that takes longer, and rejects as the work does until then', async () => {
  expect(await within(1, new Promise(() => undefined))).toBeUndefined();
  await expect(within(60_000, Promise.reject(new Error('down')))).rejects.toThrow('down');
});
