import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { pausableTimeout, SilenceTimer } from '../../src/platform/silence-timer.ts';
import { openSocketPair } from './socket-pair.ts';

it('hears what arrived before the end of the silence, though the process paused until after it', async () => {
  const { client, peer, close } = await openSocketPair();
  const silent = Promise.withResolvers<string>();
  const heard: string[] = [];
  const timer = new SilenceTimer(() => silent.resolve(`silence after ${heard.length} pieces`));
  client.on('data', (piece) => {
    heard.push(piece.toString());
    timer.heard();
  });
  timer.start(50);
  peer.write('a');
  for (const wakesAt = performance.now() + 60; performance.now() < wakesAt;);
  expect(await silent.promise).toBe('silence after 1 pieces');
  close();
});

it('counts a pause of the process as a quarter of the time, because a peer may have had to wait for it', async () => {
  const silent = Promise.withResolvers<string>();
  const ends: string[] = [];
  const timer = new SilenceTimer(() => {
    ends.push('silence');
    silent.resolve('silence');
  });
  timer.start(400);
  for (const wakesAt = performance.now() + 500; performance.now() < wakesAt;);
  // Each turn of the event loop ends one quarter at most, however slow the machine is, and these are fewer than four turns.
  await sleep(1);
  await turn();
  expect(ends).toEqual([]);
  expect(await silent.promise).toBe('silence');
});

it('ends a call that has a limit only after a pause of the process and three more quarters of the limit', async () => {
  const signal = pausableTimeout(400);
  for (const wakesAt = performance.now() + 500; performance.now() < wakesAt;);
  await sleep(1);
  await turn();
  expect(signal.aborted).toBe(false);
  await new Promise((resolve) => signal.addEventListener('abort', resolve));
  expect(signal.reason).toMatchObject({ name: 'TimeoutError' });
});
