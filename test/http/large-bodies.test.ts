import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { deflateRawSync, deflateSync, gzipSync, zstdCompressSync, constants, brotliCompressSync } from 'node:zlib';
import type { AppMiddleware } from '../../src/http/context.ts';
import type { Route } from '../../src/http/route.ts';
import { standIn } from '../support/stand-in.ts';
import { describedRoutes } from './openapi/described-routes.ts';
import { goodKey, openKey, sendRaw, startFrame, type Frame } from './support.ts';

/** Answers what it got, as far as it is short. */
const echo: AppMiddleware = (ctx) => {
  ctx.set(standIn, 'true');
  ctx.body = { keys: Object.keys(ctx.request.body ?? {}), length: JSON.stringify(ctx.request.body).length };
  return Promise.resolve();
};

const readsJson = describedRoutes().filter(({ body, auth }) => body.startsWith('json') && auth === 'api_key');
const isOfSpecification = ({ path }: Pick<Route, 'path'>): boolean => path.startsWith('/api/');
const [strict, vendors] = [readsJson.filter(isOfSpecification), readsJson.filter((route) => !isOfSpecification(route))];
const rows = (routes: readonly Pick<Route, 'path'>[]) => routes.map(({ path }) => ({ path }));

let frame: Frame;
beforeAll(async () => {
  const routes = readsJson.map((route) => ({ ...route, beforeAuth: [], beforeBody: [], handler: echo }));
  frame = await startFrame({ routes });
});
afterAll(() => frame?.close({ drainSeconds: 0 }));

type Body = Uint8Array<ArrayBuffer> | string;
async function post(path: string, body: Body, headers: Record<string, string> = {}) {
  const answer = await fetch(frame.url + path.replace(/(?<!\\):\w+/g, 'x').replaceAll('\\', ''), {
    method: 'POST',
    headers: { 'x-api-key': goodKey, 'content-type': 'application/json', ...headers },
    body,
  });
  return { status: answer.status, text: await answer.text(), accepts: answer.headers.get('accept-encoding') };
}

const ofBytes = (bytes: number): string => `{"a":"${'x'.repeat(bytes - 8)}"}`;
const ofLevels = (levels: number): string => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;

it('reads JSON on every route that is tested here', () => {
  expect(vendors.length).toBeGreaterThan(12);
  expect(strict.length).toBeGreaterThan(6);
});

describe.each(rows(vendors))('a body for $path', ({ path }) => {
  it('may have 32 MB and 64 levels, and is refused above that', async () => {
    expect(await post(path, ofBytes(path === '/v1/messages' ? 32_000_000 : 4_000_001))).toMatchObject({ status: 200 });
    expect(await post(path, ofBytes(32_000_001))).toMatchObject({
      status: 413,
      text: expect.stringContaining('32000000 bytes'),
    });
    expect(await post(path, ofLevels(64))).toMatchObject({ status: 200 });
    expect(await post(path, ofLevels(65))).toMatchObject({ status: 400, text: expect.stringContaining('64 levels') });
  });

  it('may be compressed', async () => {
    const packed = gzipSync('{"model":"m"}');
    expect(await post(path, packed, { 'content-encoding': 'gzip' })).toMatchObject({
      status: 200,
      text: expect.stringContaining('["model"]'),
    });
  });
});

describe.each(rows(strict))('a body for $path, a route of the specification', ({ path }) => {
  it('may have 4 MB and 32 levels, and is not compressed', async () => {
    expect(await post(path, ofBytes(4_000_000))).toMatchObject({ status: 200 });
    expect(await post(path, ofBytes(4_000_001))).toMatchObject({ status: 413 });
    expect(await post(path, ofLevels(32))).toMatchObject({ status: 200 });
    expect(await post(path, ofLevels(33))).toMatchObject({ status: 400 });
    expect(await post(path, gzipSync('{"model":"m"}'), { 'content-encoding': 'gzip' })).toMatchObject({
      status: 415,
      accepts: 'identity',
    });
  });
});

describe('a compressed body', () => {
  const path = '/v1/chat/completions';
  type Compress = (text: string | Buffer) => Buffer;
  const codings: [name: string, coding: string, compress: Compress][] = [
    ['gzip', 'gzip', gzipSync],
    ['deflate', 'deflate', deflateSync],
    ['deflate without the header of zlib', 'deflate', deflateRawSync],
    ['zstd', 'zstd', zstdCompressSync],
  ];
  const otherNames = ['x-gzip', 'GZip', 'identity, gzip'].map((name): [string, string, Compress] => [
    name,
    name,
    gzipSync,
  ]);
  const send = (packed: Buffer, coding: string) => post(path, new Uint8Array(packed), { 'content-encoding': coding });

  it.each([...codings, ...otherNames])('in %s is read as what it contains', async (_name, coding, compress) => {
    const text = JSON.stringify({ é: randomBytes(300_000).toString('base64'), ü: '\u{1F600}'.repeat(50_000) });
    expect(await send(compress(text), coding)).toMatchObject({
      status: 200,
      text: JSON.stringify({ keys: ['é', 'ü'], length: text.length }),
    });
  });

  it.each(codings)('in %s may unpack to 32 MB, and is cut off there', async (_name, coding, compress) => {
    expect(await send(compress(ofBytes(32_000_000)), coding)).toMatchObject({ status: 200 });
    expect(await send(compress(ofBytes(32_000_001)), coding)).toMatchObject({
      status: 413,
      text: expect.stringContaining('unpacked'),
    });
  });

  it.each(codings)(
    'in %s that unpacks to hundreds of megabytes of zeros costs no more memory than an allowed one',
    async (_name, coding, compress) => {
      // Members one after another are one text.
      const zeros = compress(Buffer.alloc(64_000_000));
      const bomb = coding === 'deflate' ? compress(Buffer.alloc(100_000_000)) : Buffer.concat(Array(16).fill(zeros));
      const before = process.memoryUsage.rss();
      expect((await send(bomb, coding)).status).toBe(413);
      expect(process.memoryUsage.rss() - before).toBeLessThan(150_000_000);
    },
  );

  it.each(codings)(
    'in %s that is broken, cut or none at all is refused as invalid_json',
    async (_name, coding, compress) => {
      const packed = compress(JSON.stringify({ a: randomBytes(1_000).toString('base64') }));
      const damaged = Buffer.from(packed);
      damaged.fill(0xff, packed.length >> 1);
      for (const bytes of [Buffer.from('{}'), packed.subarray(0, -20), damaged]) {
        expect(await send(bytes, coding)).toMatchObject({ status: 400, text: expect.stringContaining('invalid_json') });
      }
    },
  );

  it.each(codings)('in %s is held to the limits of what it contains', async (_name, coding, compress) => {
    expect(await send(compress(ofLevels(65)), coding)).toMatchObject({ status: 400 });
    expect(await send(compress('{"a":"\\u0000"}'), coding)).toMatchObject({ status: 400 });
    expect(await send(compress(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])), coding)).toMatchObject({
      status: 400,
      text: expect.stringContaining('UTF-8'),
    });
    expect(await send(compress(''), coding)).toMatchObject({ status: 400 });
  });

  it.each([
    ['br', brotliCompressSync('{}')],
    ['compress', Buffer.from('{}')],
    ['gzip, gzip', gzipSync(gzipSync('{}'))],
    ['zstd, gzip', gzipSync(zstdCompressSync('{}'))],
  ])('in %s is refused with 415, which says what is read', async (coding, packed) => {
    expect(await send(packed, coding)).toMatchObject({
      status: 415,
      accepts: 'gzip, deflate, zstd',
      text: expect.stringContaining(coding),
    });
  });

  it('in zstd with a window above 8 MB is refused', async () => {
    const { ZSTD_c_windowLog, ZSTD_c_contentSizeFlag } = constants;
    const window = (log: number) =>
      zstdCompressSync(ofBytes(20_000_000), { params: { [ZSTD_c_windowLog]: log, [ZSTD_c_contentSizeFlag]: 0 } });
    expect((await send(window(23), 'zstd')).status).toBe(200);
    expect((await send(window(24), 'zstd')).status).toBe(400);
  });
});

describe('a text of several megabytes', () => {
  it.each(['é', '€', '\u{1F600}', 'xé€\u{1F600}'])(
    'of %s arrives as it was sent, wherever it is cut into pieces',
    async (unit) => {
      for (const before of ['', 'x', 'xy', 'xyz']) {
        const value = { [`k${before}`]: before + unit.repeat(3_000_000 / unit.length) };
        expect(await post('/v1/messages', JSON.stringify(value))).toMatchObject({
          status: 200,
          text: JSON.stringify({ keys: Object.keys(value), length: JSON.stringify(value).length }),
        });
      }
    },
  );

  it('with a byte that is not UTF-8 is refused', async () => {
    for (const at of [3_999_999, 4_000_000, 8_000_000]) {
      const bytes = Buffer.from(ofBytes(9_000_000));
      bytes[at] = 0xc3;
      expect(await post('/v1/messages', new Uint8Array(bytes))).toMatchObject({
        status: 400,
        text: expect.stringContaining('UTF-8'),
      });
    }
  });
});

describe('a body that says that it has more than 4 MB', () => {
  const otherKey = goodKey.replace('Good', 'Fine');
  const head = (bytes: number, key: string): string =>
    [
      'POST /v1/messages HTTP/1.1',
      'Host: a',
      `x-api-key: ${key}`,
      'Content-Type: application/json',
      `Content-Length: ${bytes}`,
    ].join('\r\n') + '\r\n\r\n';
  let small: Frame;
  beforeAll(async () => {
    const routes = vendors.map((route) => ({ ...route, beforeAuth: [], beforeBody: [], handler: echo }));
    const authenticate = (secret: string) =>
      Promise.resolve({ ...openKey, projectId: secret === otherKey ? 'prj_2' : 'prj_1' });
    small = await startFrame({
      routes,
      settings: { BODIES_BUFFERED_MAX_BYTES: '40000000' },
      deps: { authenticate },
    });
  });
  afterAll(() => small?.close({ drainSeconds: 0 }));

  const openBody = (bytes: number, key: string): Socket => {
    const { hostname, port } = new URL(small.url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined).write(head(bytes, key));
    return socket;
  };
  /** Sends as much of each body as keeps it from being refused as too slow for some seconds more. */
  const goOn = (bodies: readonly Socket[]): void => bodies.forEach((socket) => socket.write('x'.repeat(10_000)));

  it('takes its memory before it is read, and is refused before it is read where there is none', async () => {
    const held = [openBody(16_000_000, goodKey), openBody(16_000_000, goodKey)];
    try {
      // The first ones have reserved their bytes once a third of the same project is refused. Nothing of its body is sent.
      let refusal = '';
      for (let tries = 0; tries < 100 && !refusal.startsWith('HTTP/1.1 503'); tries += 1) {
        goOn(held);
        const socket = openBody(6_000_000, goodKey);
        refusal = String(await Promise.race([once(socket, 'data'), sleep(200)]));
        socket.destroy();
      }
      expect(refusal).toMatch(/^HTTP\/1\.1 503 [^]*overloaded/);
      // A quarter is left for another project.
      const other = await fetch(`${small.url}/v1/messages`, {
        method: 'POST',
        headers: { 'x-api-key': otherKey, 'content-type': 'application/json' },
        body: ofBytes(7_000_000),
      });
      expect(other.status).toBe(200);
    } finally {
      for (const socket of held) socket.destroy();
    }
  });

  it('is answered with 503 even if its client sends everything before it reads', async () => {
    const held = [openBody(16_000_000, goodKey), openBody(16_000_000, goodKey)];
    const body = ofBytes(20_000_000);
    let answer = '';
    try {
      for (let tries = 0; tries < 20 && !answer.startsWith('HTTP/1.1 503'); tries += 1) {
        goOn(held);
        answer = await sendRaw(small.url, head(20_000_000, goodKey), body);
      }
    } finally {
      for (const socket of held) socket.destroy();
    }
    expect(answer).toMatch(/^HTTP\/1\.1 503 /);
  });
});
