import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { expect, it } from '@jest/globals';
import { within } from '../../src/platform/pause.ts';

it('takes an answer that arrived in time, though the process paused until after it', async () => {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [peer] = (await once(server, 'connection')) as [Socket];
  const answer = within(50, once(client, 'data'));
  peer.write('in time');
  for (const wakesAt = performance.now() + 60; performance.now() < wakesAt;);
  expect(String(await answer)).toBe('in time');
  client.destroy();
  server.close();
});

it('gives up work that takes longer, and rejects as the work does until then', async () => {
  expect(await within(1, new Promise(() => undefined))).toBeUndefined();
  await expect(within(60_000, Promise.reject(new Error('down')))).rejects.toThrow('down');
});
