import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createEgress } from '../../../src/platform/egress/egress.ts';
import { holdTimer } from '../../support/held-timer.ts';
import {
  closers,
  length,
  limits,
  listen,
  loopback,
  LOOPBACK,
  rawReceiver,
  receiver,
  tlsReceiver,
} from './egress-scene.ts';

afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()));
});

describe('download', () => {
  it('streams a body into the sink and returns the value of the sink', async () => {
    const bytes = Buffer.alloc(3_000_000, 'v');
    const url = await receiver((_request, response) =>
      response.writeHead(200, { 'content-type': 'video/mp4' }).end(bytes),
    );
    const result = await loopback().download(url, { ...limits, maxBytes: 3_000_000 }, async (body, { headers }) => ({
      type: headers['content-type'],
      same: (await buffer(body)).equals(bytes),
    }));
    expect(result).toMatchObject({ kind: 'saved', status: 200, value: { type: 'video/mp4', same: true } });
  });

  it('refuses a body over the limit, declared or not, and interrupts the sink', async () => {
    let sinkCalls = 0;
    const sink = (body: AsyncIterable<Buffer>) => {
      sinkCalls += 1;
      return length(body);
    };
    const declared = await receiver((_request, response) =>
      response.writeHead(200, { 'content-length': 16_001 }).end(Buffer.alloc(16_001)),
    );
    expect(await loopback().download(declared, limits, sink)).toEqual({
      kind: 'failed',
      reason: 'too_large',
      status: 200,
    });
    expect(sinkCalls).toBe(0);
    const chunked = await receiver((_request, response) => {
      response.write(Buffer.alloc(16_000));
      setTimeout(() => response.end(Buffer.alloc(1)), 20);
    });
    expect(await loopback().download(chunked, limits, sink)).toEqual({
      kind: 'failed',
      reason: 'too_large',
      status: 200,
    });
    expect(sinkCalls).toBe(1);
  });

  it('fails if the transfer is cut or too slow, even if the sink hides the error', async () => {
    const cut = await rawReceiver((socket) =>
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf')),
    );
    expect(await loopback().download(cut, limits, length)).toEqual({ kind: 'failed', reason: 'reset', status: 200 });
    const hiding = (body: AsyncIterable<Buffer>) => length(body).catch(() => -1);
    expect(await loopback().download(cut, limits, hiding)).toEqual({ kind: 'failed', reason: 'reset', status: 200 });
    const stalling = await receiver((_request, response) => response.writeHead(200).write('x'));
    const passLimit = holdTimer(60_001);
    const waiting = (body: AsyncIterable<Buffer>) => {
      passLimit();
      return length(body);
    };
    expect(await loopback().download(stalling, { ...limits, timeoutMs: 60_001 }, waiting)).toEqual({
      kind: 'failed',
      reason: 'timeout',
      status: 200,
    });
  });

  it("ends when the caller's signal aborts or has already aborted", async () => {
    const url = await receiver(() => undefined);
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 50);
    for (const signal of [controller.signal, AbortSignal.abort()]) {
      expect(await loopback().download(url, { ...limits, signal }, length)).toEqual({
        kind: 'failed',
        reason: 'aborted',
      });
    }
  });

  it('throws the own error of the sink', async () => {
    const url = await receiver((_request, response) => response.end('x'.repeat(10_000)));
    const full = () => Promise.reject(new Error('disk full'));
    await expect(loopback().download(url, limits, full)).rejects.toThrow('disk full');
  });

  it("trusts only the channel's own origin and sends the credential only there", async () => {
    const seen: (string | undefined)[] = [];
    const answering: RequestListener = (request, response) => {
      seen.push(request.headers.authorization);
      response.end('x');
    };
    const own = await receiver(answering);
    const other = await receiver(answering);
    const options = {
      ...limits,
      trustedOrigins: [`${own}v1/`, 'not a url'],
      trustedHeaders: { authorization: 'Bearer upstream' },
    };
    const strict = createEgress({ allowCidrs: [], callbackPorts: [] });
    expect(await strict.download(`${own}file.png`, options, length)).toMatchObject({ kind: 'saved', value: 1 });
    expect(await strict.download(other, options, length)).toEqual({ kind: 'blocked', reason: 'scheme' });
    expect(await loopback().download(other, options, length)).toMatchObject({ kind: 'saved' });
    expect(seen).toEqual(['Bearer upstream', undefined]);
  });

  it('reuses the connection to a trusted origin only', async () => {
    const { url, connections } = await countingReceiver((_request, response) => response.end('x'));
    const strict = createEgress({ allowCidrs: [], callbackPorts: [] });
    const trusted = { ...limits, trustedOrigins: [url] };
    for (let time = 0; time < 3; time += 1) {
      expect(await strict.download(url, trusted, length)).toMatchObject({ kind: 'saved', value: 1 });
      // The pool releases a connection one turn after the body has ended.
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(connections()).toBe(1);
    for (let time = 0; time < 3; time += 1) {
      expect(await loopback().download(url, limits, length)).toMatchObject({ kind: 'saved', value: 1 });
    }
    expect(connections()).toBe(4);
    await strict.close();
  });

  it('closes a reused connection after a body that was refused, cut off or not read, and opens another', async () => {
    const { url, connections } = await countingReceiver((request, response) => {
      if (request.url === '/large') response.end(Buffer.alloc(16_001));
      else if (request.url === '/missing') response.writeHead(404).end('no such file');
      else if (request.url === '/stalling') response.writeHead(200).write('x');
      else if (request.url === '/cut')
        response.writeHead(200, { 'content-length': 9 }).write('x', () => response.destroy());
      else response.end('x');
    });
    const strict = createEgress({ allowCidrs: [], callbackPorts: [] });
    const from = (path: string) =>
      strict.download(
        `${url}${path}`,
        { ...limits, ...(path === 'stalling' && { timeoutMs: 1_000 }), trustedOrigins: [url] },
        length,
      );
    const kinds: [string, object][] = [
      ['large', { kind: 'failed', reason: 'too_large' }],
      ['missing', { kind: 'answer', status: 404 }],
      ['stalling', { kind: 'failed', reason: 'timeout' }],
      ['cut', { kind: 'failed', reason: 'reset' }],
    ];
    for (const [path, expected] of kinds) {
      expect(await from(path)).toMatchObject(expected);
      expect(await from('file')).toMatchObject({ kind: 'saved', value: 1 });
    }
    expect(connections()).toBeGreaterThan(1);
    await strict.close();
  });

  it('reports whether the name, the connection or the certificate of a trusted origin failed', async () => {
    const { port, requests } = await tlsReceiver();
    const rows: [string, Partial<Parameters<typeof createEgress>[0]>, string][] = [
      [`https://upstream.example:${port}`, { resolver: () => Promise.resolve([LOOPBACK]) }, 'tls'],
      // No server listens on this port.
      ['http://upstream.example:1', { resolver: () => Promise.resolve([LOOPBACK]) }, 'connect'],
      ['https://upstream.example', { resolver: () => Promise.reject(new Error('ENOTFOUND')) }, 'dns'],
    ];
    for (const [origin, settings, reason] of rows) {
      const egress = createEgress({ allowCidrs: [], callbackPorts: [], ...settings });
      expect(await egress.download(origin, { ...limits, trustedOrigins: [origin] }, length)).toEqual({
        kind: 'failed',
        reason,
      });
      await egress.close();
    }
    expect(requests).toEqual([]);
  });

  it('trusts an origin by name without a check of its addresses', async () => {
    const own = await receiver((_request, response) => response.end('x'));
    const origin = own.replace('127.0.0.1', 'upstream.internal');
    const strict = createEgress({ allowCidrs: [], callbackPorts: [], resolver: () => Promise.resolve([LOOPBACK]) });
    expect(await strict.download(origin, { ...limits, trustedOrigins: [origin] }, length)).toMatchObject({
      kind: 'saved',
    });
    expect(await strict.download(origin, limits, length)).toMatchObject({ kind: 'blocked' });
  });
});
async function countingReceiver(answer: RequestListener): Promise<{ url: string; connections: () => number }> {
  let count = 0;
  const server = createHttpServer(answer).on('connection', () => (count += 1));
  // A client that pauses for seconds still finds its connection open.
  server.keepAliveTimeout = 60_000;
  return { url: `http://127.0.0.1:${await listen(server)}/`, connections: () => count };
}
