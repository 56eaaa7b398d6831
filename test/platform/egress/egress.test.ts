import { connect, createServer as createTcpServer, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createEgress, type Egress } from '../../../src/platform/egress/egress.ts';
import type { ResolvedAddress } from '../../../src/platform/egress/resolve-name.ts';
import { eventually } from '../../support/eventually.ts';
import { holdTimer, passAfterPause } from '../../support/held-timer.ts';
import { informational } from '../../support/informational-answers.ts';
import {
  certificate,
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

const PUBLIC = { address: '93.184.216.34', family: 4 };
/** Counts every connection. A test of refused addresses expects zero. */
let sentinel: { port: number; connections: () => number };

beforeEach(async () => {
  let count = 0;
  const port = await listen(
    createTcpServer((socket) => {
      count += 1;
      socket.destroy();
    }),
  );
  sentinel = { port, connections: () => count };
});
afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()));
});

describe('the egress guard', () => {
  it('opens no connection to a refused address in any notation', async () => {
    const { port } = sentinel;
    const egress = createEgress({ allowCidrs: [], callbackPorts: [port] });
    const hosts = [
      '127.0.0.1',
      '127.1',
      '2130706433',
      '0x7f.1',
      '0177.0.0.1',
      '①②⑦.0.0.1',
      '127.0.0.1.',
      '0.0.0.0',
      '0',
      'localhost',
      'localhost.',
      'x.localhost',
      '[::1]',
      '[::]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '[::127.0.0.1]',
      '[64:ff9b::7f00:1]',
      '[2002:7f00:1::]',
      '::1',
      '[127.0.0.1]',
      '[fe80::1%25lo]',
      'user@127.0.0.1',
      '127.0.0.1#@hooks.example',
      'hooks.example\\@127.0.0.1',
    ];
    for (const host of hosts) {
      for (const text of [
        `https://${host}:${port}/`,
        `http://${host}:${port}/`,
        `https:\\\\${host}:${port}/`,
        `https:/${host}:${port}/`,
      ]) {
        expect([text, (await egress.fetch(text, limits)).kind]).toEqual([text, 'blocked']);
        expect([text, (await egress.download(text, limits, buffer)).kind]).toEqual([text, 'blocked']);
      }
    }
    expect(sentinel.connections()).toBe(0);
  });

  it.each([
    ['loopback', [LOOPBACK]],
    ['a public and a private address', [PUBLIC, LOOPBACK]],
    ['a private and a public address', [LOOPBACK, PUBLIC]],
    ['a public IPv4 and a private IPv6 address', [PUBLIC, { address: '::1', family: 6 }]],
    ['a mapped address', [{ address: '::ffff:127.0.0.1', family: 6 }]],
    ['the metadata service', [{ address: '169.254.169.254', family: 4 }]],
    ['a private address behind many public ones', [...Array.from({ length: 30 }, () => PUBLIC), LOOPBACK]],
    ['text that is not an address', [{ address: 'localhost', family: 4 }]],
  ])('blocks a name that resolves to %s, without a connection', async (_what, addresses) => {
    const dialled: ResolvedAddress[][] = [];
    const egress = named(sentinel.port, () => addresses, dialled);
    expect(await egress.fetch(`https://hooks.example:${sentinel.port}/`, limits)).toEqual({
      kind: 'blocked',
      reason: 'address',
    });
    expect(dialled).toEqual([]);
    expect(sentinel.connections()).toBe(0);
  });

  it('resolves a name once and connects to a checked address, so that DNS rebinding fails', async () => {
    const answers = [[PUBLIC], [LOOPBACK], [LOOPBACK]];
    const dialled: ResolvedAddress[][] = [];
    const { port, requests } = await tlsReceiver();
    const egress = named(port, () => answers.shift() ?? [], dialled);
    const url = `https://hooks.example:${port}/hook?x=1`;
    expect(await egress.fetch(url, { ...limits, method: 'POST', body: '{}' })).toMatchObject({
      kind: 'answer',
      status: 200,
    });
    expect(answers).toHaveLength(2);
    expect(await egress.fetch(url, limits)).toEqual({ kind: 'blocked', reason: 'address' });
    expect(dialled).toEqual([[PUBLIC]]);
    expect(requests.map(({ url: path, headers }) => [path, headers.host])).toEqual([
      ['/hook?x=1', `hooks.example:${port}`],
    ]);
  });

  it('blocks a name that resolves into an allowed range, because only literal addresses are exempt', async () => {
    const egress = loopback({ callbackPorts: [sentinel.port], resolver: () => Promise.resolve([LOOPBACK]) });
    expect(await egress.fetch(`https://hooks.example:${sentinel.port}/`, limits)).toEqual({
      kind: 'blocked',
      reason: 'address',
    });
    expect(sentinel.connections()).toBe(0);
  });

  it('connects to the next checked address if the first does not answer', async () => {
    const url = new URL(await receiver((_request, response) => response.end('reached')));
    url.hostname = 'upstream.example';
    const addresses = [{ address: '::1', family: 6 }, LOOPBACK];
    const egress = createEgress({ allowCidrs: [], callbackPorts: [], resolver: () => Promise.resolve(addresses) });
    const result = await egress.download(url.href, { ...limits, trustedOrigins: [url.origin] }, length);
    expect(result).toMatchObject({ kind: 'saved', value: 7 });
  });

  it('reports an unknown name as failed, not as blocked', async () => {
    const unknown = createEgress({
      allowCidrs: [],
      callbackPorts: [],
      resolver: () => Promise.reject(new Error('ENOTFOUND')),
    });
    const empty = createEgress({ allowCidrs: [], callbackPorts: [], resolver: () => Promise.resolve([]) });
    for (const egress of [unknown, empty]) {
      expect(await egress.fetch('https://hooks.example/', limits)).toEqual({ kind: 'failed', reason: 'dns' });
    }
  });

  it('fails for a name under .invalid with the default resolver', async () => {
    const egress = createEgress({ allowCidrs: [], callbackPorts: [] });
    const result = await egress.fetch('https://nobody.invalid/', { ...limits, timeoutMs: 3_000 });
    expect(result.kind).toBe('failed');
  });

  it('ends a resolver that never answers after the timeout', async () => {
    const egress = createEgress({ allowCidrs: [], callbackPorts: [], resolver: () => new Promise(() => undefined) });
    expect(await egress.fetch('https://hooks.example/', { ...limits, timeoutMs: 50 })).toEqual({
      kind: 'failed',
      reason: 'timeout',
    });
  });

  it('follows no redirect and returns the 3xx', async () => {
    const to = `http://127.0.0.1:${sentinel.port}/`;
    for (const status of [301, 302, 303, 307, 308]) {
      const url = await receiver((_request, response) => response.writeHead(status, { location: to }).end('moved'));
      expect(await loopback().fetch(url, limits)).toMatchObject({ kind: 'answer', status, headers: { location: to } });
      expect(await loopback().download(url, limits, buffer)).toMatchObject({ kind: 'answer', status });
    }
    expect(sentinel.connections()).toBe(0);
  });

  it('reads no proxy variable', async () => {
    const before = { ...process.env };
    const proxy = `http://127.0.0.1:${sentinel.port}`;
    Object.assign(process.env, {
      HTTP_PROXY: proxy,
      http_proxy: proxy,
      HTTPS_PROXY: proxy,
      ALL_PROXY: proxy,
      NODE_USE_ENV_PROXY: '1',
    });
    try {
      const url = await receiver((_request, response) => response.end('direct'));
      expect(text(await loopback().fetch(url, limits))).toBe('direct');
    } finally {
      process.env = before;
    }
    expect(sentinel.connections()).toBe(0);
  });

  it('refuses an untrusted certificate and a certificate for another name', async () => {
    const { port, requests } = await tlsReceiver();
    const untrusting = createEgress({ ...namedSettings(port, () => [PUBLIC], []) });
    expect(await untrusting.fetch(`https://hooks.example:${port}/`, limits)).toEqual({ kind: 'failed', reason: 'tls' });
    const egress = named(port, () => [PUBLIC], []);
    expect(await egress.fetch(`https://other.example:${port}/`, limits)).toEqual({ kind: 'failed', reason: 'tls' });
    expect(await loopback({ ca: certificate }).fetch(`https://127.0.0.1:${port}/`, limits)).toEqual({
      kind: 'failed',
      reason: 'tls',
    });
    const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    try {
      expect(await loopback().fetch(`https://127.0.0.1:${port}/`, limits)).toEqual({ kind: 'failed', reason: 'tls' });
    } finally {
      if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
      else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before;
    }
    expect(requests).toEqual([]);
  });
});

describe('fetch', () => {
  it('sends the request and returns the answer', async () => {
    let seen = '';
    const url = await receiver((request, response) => {
      void buffer(request).then((body) => {
        seen = `${request.method} ${request.url} ${request.headers['webhook-id']?.toString()} ${body.toString()}`;
        response.writeHead(201, { 'x-a': ['1', '2'] }).end('made');
      });
    });
    const options = { ...limits, method: 'POST' as const, headers: { 'webhook-id': 'msg_1' }, body: '{"a":1}' };
    const answer = await loopback().fetch(`${url}hook`, options);
    expect(answer).toMatchObject({ kind: 'answer', status: 201, truncated: false, headers: { 'x-a': '1, 2' } });
    expect(text(answer)).toBe('made');
    expect(seen).toBe('POST /hook msg_1 {"a":1}');
  });

  it('cuts an endless body at the limit and still returns the status', async () => {
    let ended = false;
    const url = await receiver((_request, response) => {
      response.writeHead(200);
      const fill = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536, 'x')));
      };
      response.on('drain', fill).on('close', () => (ended = true));
      fill();
    });
    const answer = await loopback().fetch(url, limits);
    expect(answer).toMatchObject({ kind: 'answer', status: 200, truncated: true });
    expect(text(answer)).toHaveLength(16_000);
    await eventually(() => Promise.resolve(ended), { what: 'the end of the connection' });
  });

  it('does not mark a body of exactly the limit as truncated', async () => {
    const url = await receiver((_request, response) => response.end('x'.repeat(16_000)));
    expect(await loopback().fetch(url, limits)).toMatchObject({ kind: 'answer', truncated: false });
  });

  it('accepts an answer with 100 kB of headers and refuses a much larger one', async () => {
    const small = await receiver((_request, response) =>
      response.writeHead(503, { 'x-fill': 'x'.repeat(100_000) }).end(),
    );
    expect(await loopback().fetch(small, limits)).toMatchObject({ kind: 'answer', status: 503 });
    const large = await receiver((_request, response) =>
      response.writeHead(200, { 'x-fill': 'x'.repeat(300_000) }).end(),
    );
    expect(await loopback().fetch(large, limits)).toEqual({ kind: 'failed', reason: 'too_large' });
  });

  it('ends a receiver that never answers or never ends its answer after the timeout', async () => {
    const hanging = await receiver(() => undefined);
    expect(await loopback().fetch(hanging, { ...limits, timeoutMs: 100 })).toEqual({
      kind: 'failed',
      reason: 'timeout',
    });
    const passLimit = holdTimer(60_001);
    let drips = 0;
    const dripping = await receiver((_request, response) => {
      response.writeHead(200);
      const timer = setInterval(() => {
        response.write('x');
        // The status has arrived by then: the event loop has read every socket between two drips.
        if ((drips += 1) === 5) passLimit();
      }, 10);
      response.on('close', () => clearInterval(timer));
    });
    expect(await loopback().fetch(dripping, { ...limits, timeoutMs: 60_001 })).toEqual({
      kind: 'failed',
      reason: 'timeout',
      status: 200,
    });
    const slowHeaders = await rawReceiver((socket) => {
      const timer = setInterval(() => socket.write('HTTP/1.1 200 OK\r\n'.slice(0, 1)), 10);
      socket.on('close', () => clearInterval(timer));
    });
    expect((await loopback().fetch(slowHeaders, { ...limits, timeoutMs: 150 })).kind).toBe('failed');
  });

  it('takes an answer that arrived in time, though this process paused until after the limit', async () => {
    const passLimit = holdTimer(60_001);
    const url = await receiver((_request, response) => void response.end('{}', () => passAfterPause(passLimit)));
    const outcome = await loopback().fetch(url, { ...limits, timeoutMs: 60_001 });
    expect(outcome).toMatchObject({ kind: 'answer', status: 200 });
  });

  it('reports connect if no server listens and reset if the peer closes the connection', async () => {
    // No server listens on this port.
    expect(await loopback().fetch('http://127.0.0.1:1/', limits)).toEqual({ kind: 'failed', reason: 'connect' });
    const broken = await rawReceiver((socket) => socket.once('data', () => socket.destroy()));
    expect(await loopback().fetch(broken, limits)).toEqual({ kind: 'failed', reason: 'reset' });
    const cut = await rawReceiver((socket) =>
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf')),
    );
    expect(await loopback().fetch(cut, limits)).toEqual({ kind: 'failed', reason: 'reset', status: 200 });
    const babble = await rawReceiver((socket) => socket.once('data', () => socket.end('SSH-2.0-OpenSSH_9.6\r\n')));
    expect(await loopback().fetch(babble, limits)).toEqual({ kind: 'failed', reason: 'reset' });
    const instant = await rawReceiver((socket) => socket.end());
    expect(await loopback().fetch(instant, limits)).toEqual({ kind: 'failed', reason: 'reset' });
  });

  it.each(informational)('skips %s before the answer, whole or cut into bytes', async (_what, before) => {
    for (const piece of [1_000, 1]) {
      const url = await rawReceiver((socket) =>
        socket.once('data', () => void sendInPieces(socket, `${before}${answerOk}`, piece)),
      );
      expect(text(await loopback().fetch(url, { ...limits, method: 'POST', body: '{}' }))).toBe('ok');
      expect(await loopback().download(url, limits, buffer)).toMatchObject({ kind: 'saved', status: 200 });
    }
  });

  it('leaves a body alone that looks like an informational answer', async () => {
    const body = 'HTTP/1.1 100 Continue\r\n\r\n';
    const url = await receiver((_request, response) => {
      response.writeHead(200, { 'content-length': body.length }).flushHeaders();
      setImmediate(() => response.end(body));
    });
    expect(text(await loopback().fetch(url, limits))).toBe(body);
  });

  it.each([
    ['nothing but informational answers', 'HTTP/1.1 100 Continue\r\n\r\n'],
    ['an informational answer that never ends', `HTTP/1.1 100 Continue\r\n${'x-filler: 1\r\n'.repeat(40)}`],
  ])('fails for a receiver that sends %s', async (_what, endless) => {
    const url = await rawReceiver((socket) => {
      const timer = setInterval(() => socket.write(endless.repeat(10)), 1);
      socket.on('error', () => undefined).on('close', () => clearInterval(timer));
    });
    expect((await loopback().fetch(url, { ...limits, timeoutMs: 1_000 })).kind).toBe('failed');
  });

  it('sends a request once even if the connection breaks before the answer', async () => {
    let connections = 0;
    const url = await rawReceiver((socket) => {
      connections += 1;
      socket.once('data', () => socket.destroy());
    });
    await loopback().fetch(url, limits);
    expect(connections).toBe(1);
  });

  it('requests no compression and decodes none', async () => {
    const packed = gzipSync(Buffer.alloc(1_000_000));
    let queries: string | undefined;
    const url = await receiver((request, response) => {
      queries = request.headers['accept-encoding']?.toString();
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed);
    });
    const answer = await loopback().fetch(url, limits);
    expect(queries).toBe('identity');
    expect(answer.kind === 'answer' && answer.body.equals(packed)).toBe(true);
  });

  it('shares no connection between two requests and leaves none open', async () => {
    const sockets = new Set<Socket>();
    const url = await receiver((request, response) => {
      sockets.add(request.socket);
      response.end('x');
    });
    const egress = loopback();
    await egress.fetch(url, limits);
    await egress.fetch(url, limits);
    expect(sockets.size).toBe(2);
    await eventually(() => Promise.resolve([...sockets].every((socket) => socket.destroyed)));
  });
});

const answerOk = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

async function sendInPieces(socket: Socket, text: string, size: number): Promise<void> {
  for (let at = 0; at < text.length; at += size) {
    socket.write(text.slice(at, at + size));
    await new Promise(setImmediate);
  }
  socket.end();
}

/** A guard that really checks the resolved addresses, but connects to our receiver instead of a public address. */
function namedSettings(port: number, answer: () => ResolvedAddress[], dialled: ResolvedAddress[][]) {
  return {
    allowCidrs: [],
    callbackPorts: [port],
    resolver: () => Promise.resolve(answer()),
    dial: (addresses: ResolvedAddress[], to: number) => {
      dialled.push(addresses);
      return connect({ host: '127.0.0.1', port: to });
    },
  };
}
const named = (port: number, answer: () => ResolvedAddress[], dialled: ResolvedAddress[][]) =>
  createEgress({ ...namedSettings(port, answer, dialled), ca: certificate });

const text = (result: Awaited<ReturnType<Egress['fetch']>>) =>
  result.kind === 'answer' ? result.body.toString() : result.kind;
