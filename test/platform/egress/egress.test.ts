import { createSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { connect, createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createEgress, type Egress } from '../../../src/platform/egress/egress.ts';
import type { ResolvedAddress } from '../../../src/platform/egress/resolve-name.ts';
import { informational } from '../../support/informational-answers.ts';
import { startNameserver, type Query, type Reply } from './nameserver.ts';

const fixture = (name: string) => readFileSync(new URL(`fixtures/${name}`, import.meta.url), 'utf8');
const certificate = fixture('receiver-certificate.pem');
const limits = { timeoutMs: 5_000, maxBytes: 16_000 };
const PUBLIC = { address: '93.184.216.34', family: 4 };
const LOOPBACK = { address: '127.0.0.1', family: 4 };

const closers: (() => Promise<void>)[] = [];
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

const loopback = (extra: Partial<Parameters<typeof createEgress>[0]> = {}) =>
  createEgress({ allowCidrs: ['127.0.0.0/8'], callbackPorts: [], ...extra });

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

describe('the name in an untrusted URL', () => {
  const V4 = '93.184.216.34';
  const V6 = '2606:2800:220:1::1';

  it.each<[string, Reply, Reply, string[]]>([
    ['IPv4', [V4], [], [V4]],
    ['IPv6', [], [V6], [V6]],
    ['both families', [V4], [V6], [V4, V6]],
    ['IPv4 at a nameserver that denies the name in IPv6', [V4], 'nxdomain', [V4]],
    ['IPv6 at a nameserver that cannot answer for IPv4', 'servfail', [V6], [V6]],
    [
      'many addresses',
      ['9.9.9.1', '9.9.9.2', '9.9.9.3', '9.9.9.4', '9.9.9.5'],
      [V6],
      ['9.9.9.1', V6, '9.9.9.2', '9.9.9.3'],
    ],
  ])('is reached at the addresses from the nameservers: %s', async (_what, v4, v6, expected) => {
    const { egress, url, queries, dialled } = await guarded(({ family }) => (family === 4 ? v4 : v6));
    expect(await egress.fetch(url, limits)).toMatchObject({ kind: 'answer', status: 200 });
    expect(dialled.flat().map(({ address }) => address)).toEqual(expected);
    expect(new Set(queries.map(({ name, family }) => `${name} ${family}`))).toEqual(
      new Set(['hooks.example 4', 'hooks.example 6']),
    );
  });

  it.each<[string, Reply, Reply]>([
    ['in IPv4', ['127.0.0.1'], [V6]],
    ['in IPv6', [V4], ['::1']],
    ['behind public ones', [V4, V4, V4, V4, '10.0.0.1'], [V6]],
    ['and none in the other family', ['169.254.169.254'], []],
  ])('is blocked for a private address %s', async (_what, v4, v6) => {
    const { egress, url, dialled } = await guarded(({ family }) => (family === 4 ? v4 : v6));
    expect(await egress.fetch(url, limits)).toEqual({ kind: 'blocked', reason: 'address' });
    expect(dialled).toEqual([]);
  });

  it.each<[string, Reply]>([
    ['that does not exist', 'nxdomain'],
    ['without an address', []],
    ['whose nameserver is broken', 'servfail'],
  ])('%s fails fast with dns', async (_what, reply) => {
    const { egress, url } = await guarded(() => reply);
    expect(await egress.fetch(url, { ...limits, timeoutMs: 1_500 })).toEqual({ kind: 'failed', reason: 'dns' });
  });

  it('delays only its own call if its nameserver is silent, also in large numbers', async () => {
    const { egress, url, queries } = await guarded(({ name }) => (name === 'hooks.example' ? [V4] : 'silence'));
    // They end one after the other, and none cancels the queries of another.
    const silent = Array.from({ length: 64 }, (_, index) =>
      egress.fetch(`https://silent-${index}.example/`, { ...limits, timeoutMs: 3_000 + 5 * index }),
    );
    await until(() => queries.length >= 128);
    let answered = 0;
    for (const call of silent) void call.then(() => (answered += 1));
    expect(await egress.fetch(url, limits)).toMatchObject({ kind: 'answer', status: 200 });
    // The system's lookup threads for the names of providers are free, too.
    await expect(lookup('localhost')).resolves.toBeDefined();
    expect(answered).toBe(0);
    expect(new Set((await Promise.all(silent)).map((result) => JSON.stringify(result)))).toEqual(
      new Set([JSON.stringify({ kind: 'failed', reason: 'timeout' })]),
    );
  });

  it('is not queried after its call has ended', async () => {
    const { egress, url, queries } = await guarded(() => 'silence');
    expect(await egress.fetch(url, { ...limits, timeoutMs: 100 })).toEqual({ kind: 'failed', reason: 'timeout' });
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 100);
    const output = url.replace(/:\d+/, '');
    expect(await egress.download(output, { ...limits, signal: controller.signal }, length)).toEqual({
      kind: 'failed',
      reason: 'aborted',
    });
    expect(queries).toHaveLength(4);
    for (const { port } of queries) expect(await isFree(port)).toBe(true);
    // A call whose signal has aborted sends no query.
    await egress.download(output, { ...limits, signal: AbortSignal.abort() }, length);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(queries).toHaveLength(4);
  });

  it('is resolved by the system if an operator configured it, because it may be in /etc/hosts', async () => {
    const { egress, queries } = await guarded(() => 'silence');
    const own = (await receiver((_request, response) => response.end('x'))).replace('127.0.0.1', 'localhost');
    expect(await egress.download(own, { ...limits, trustedOrigins: [own] }, length)).toMatchObject({ kind: 'saved' });
    expect(queries).toEqual([]);
    await egress.close();
  });

  /** A guard that uses our nameserver, and a URL whose name only this nameserver knows. */
  async function guarded(script: (query: Query) => Reply) {
    const nameserver = await startNameserver(script);
    closers.push(() => nameserver.close());
    const { port } = await tlsReceiver();
    const dialled: ResolvedAddress[][] = [];
    const { dial } = namedSettings(port, () => [], dialled);
    const nameservers = [nameserver.address];
    const egress = createEgress({ allowCidrs: [], callbackPorts: [port], nameservers, dial, ca: certificate });
    return { egress, url: `https://hooks.example:${port}/`, queries: nameserver.queries, dialled };
  }

  /** Whether a UDP port of loopback is unused. */
  const isFree = (port: number) =>
    new Promise<boolean>((resolve) => {
      const socket = createSocket('udp4');
      socket.on('error', () => resolve(false));
      socket.bind(port, '127.0.0.1', () => socket.close(() => resolve(true)));
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
    await until(() => ended);
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
    const dripping = await receiver((_request, response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write('x'), 10);
      response.on('close', () => clearInterval(timer));
    });
    expect(await loopback().fetch(dripping, { ...limits, timeoutMs: 1_000 })).toEqual({
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

  it('reports connect if no server listens and reset if the peer closes the connection', async () => {
    const gone = await listen(createTcpServer());
    await closers.pop()?.();
    expect(await loopback().fetch(`http://127.0.0.1:${gone}/`, limits)).toEqual({ kind: 'failed', reason: 'connect' });
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
    await until(() => [...sockets].every((socket) => socket.destroyed));
  });
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
    expect(await loopback().download(stalling, { ...limits, timeoutMs: 1_000 }, length)).toEqual({
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
        { ...limits, timeoutMs: path === 'stalling' ? 1_000 : 5_000, trustedOrigins: [url] },
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
    const unused = await listen(createTcpServer());
    await closers.pop()?.();
    const rows: [string, Partial<Parameters<typeof createEgress>[0]>, string][] = [
      [`https://upstream.example:${port}`, { resolver: () => Promise.resolve([LOOPBACK]) }, 'tls'],
      [`http://upstream.example:${unused}`, { resolver: () => Promise.resolve([LOOPBACK]) }, 'connect'],
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

async function listen(server: Server): Promise<number> {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.on('error', () => undefined).on('close', () => open.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of open) socket.destroy();
    await closed;
  });
  return (server.address() as AddressInfo).port;
}

const receiver = async (answer: RequestListener) => `http://127.0.0.1:${await listen(createHttpServer(answer))}/`;
async function countingReceiver(answer: RequestListener): Promise<{ url: string; connections: () => number }> {
  let count = 0;
  const server = createHttpServer(answer).on('connection', () => (count += 1));
  return { url: `http://127.0.0.1:${await listen(server)}/`, connections: () => count };
}
const rawReceiver = async (answer: (socket: Socket) => void) =>
  `http://127.0.0.1:${await listen(createTcpServer(answer))}/`;

const answerOk = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

async function sendInPieces(socket: Socket, text: string, size: number): Promise<void> {
  for (let at = 0; at < text.length; at += size) {
    socket.write(text.slice(at, at + size));
    await new Promise(setImmediate);
  }
  socket.end();
}

async function tlsReceiver(): Promise<{ port: number; requests: IncomingMessage[] }> {
  const requests: IncomingMessage[] = [];
  const server = createHttpsServer({ cert: certificate, key: fixture('receiver-key.pem') }, (request, response) => {
    requests.push(request);
    response.end('ok');
  });
  server.on('tlsClientError', () => undefined);
  return { port: await listen(server), requests };
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

async function length(body: AsyncIterable<Buffer>): Promise<number> {
  let total = 0;
  for await (const chunk of body) total += chunk.length;
  return total;
}

async function until(condition: () => boolean): Promise<void> {
  for (let tries = 0; tries < 500 && !condition(); tries += 1) await new Promise((resolve) => setTimeout(resolve, 10));
  expect(condition()).toBe(true);
}
