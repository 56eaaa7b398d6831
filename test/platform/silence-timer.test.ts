import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { expect, it } from '@jest/globals';
import { SilenceTimer } from '../../src/platform/silence-timer.ts';

it('hears what arrived before the end of the silence, though the process paused until after it', async () => {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [peer] = (await once(server, 'connection')) as [Socket];
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
  client.destroy();
  server.close();
});
