import { expect, it } from '@jest/globals';
import { SilenceTimer } from '../../src/platform/silence-timer.ts';
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
