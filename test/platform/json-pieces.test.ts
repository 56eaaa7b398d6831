import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { createUpstreamCaller } from '../../src/adapters/upstream/call-upstream.ts';
import { canonicalJson } from '../../src/domain/canonical-json.ts';
import type { JsonValue } from '../../src/domain/json.ts';
import { canonicalHash, isLarge, jsonBytes } from '../../src/platform/json-pieces.ts';

const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex');
const joined = async (value: unknown): Promise<string> => Buffer.concat(await jsonBytes(value)).toString();
const base64 = (characters: number): string => 'A1b2C3d4'.repeat(characters / 8);

describe('large JSON in pieces', () => {
  it('has the bytes that JSON.stringify writes, and the hash of its canonical text', async () => {
    const long = fc.tuple(fc.string({ unit: 'binary' }), fc.integer({ min: 0, max: 3 })).map(([text, size]) => {
      return `${text}${'x"\\\u{1F600}\n\u4e2d'.repeat(size * 60_000)}${text}`;
    });
    const values = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 4 }, fc.jsonValue(), long, tie('list'), tie('object')),
      list: fc.array(tie('value'), { maxLength: 4 }),
      object: fc.dictionary(fc.string(), fc.option(tie('value'), { nil: undefined }), { maxKeys: 4 }),
    })).value;
    await fc.assert(
      fc.asyncProperty(values, async (value) => {
        const wrapped = { before: base64(400_000), value };
        expect(await joined(wrapped)).toBe(JSON.stringify(wrapped));
        const parsed = JSON.parse(JSON.stringify(wrapped)) as JsonValue;
        expect(await canonicalHash(parsed)).toBe(sha256(canonicalJson(parsed)));
      }),
      { numRuns: 40 },
    );
  });

  it.each([
    ['one long text', { url: base64(8_000_000) }],
    [
      'many short texts',
      { messages: Array.from({ length: 10_000 }, (_, at) => ({ role: 'user', content: `${at} ${base64(800)}` })) },
    ],
    ['many long texts', { parts: Array.from({ length: 40 }, () => ({ data: base64(200_000) })) }],
    ['deep in a schema', { a: { b: [[{ c: base64(8_000_000), d: undefined }]] } }],
  ])('lets others have the event loop while it writes %s', async (_what, value) => {
    let isWriting = true;
    let turns = 0;
    const count = (): void => {
      turns += 1;
      if (isWriting) setImmediate(count);
    };
    setImmediate(count);
    const chunks = await jsonBytes(value);
    isWriting = false;
    expect(turns).toBeGreaterThan(15);
    expect(Math.max(...chunks.map(({ length }) => length))).toBeLessThan(600_000);
    expect(sha256(Buffer.concat(chunks))).toBe(sha256(JSON.stringify(value)));
  });

  it('is for large values only', () => {
    expect(isLarge({ a: [1, 'x', null, { b: true }] })).toBe(false);
    expect(isLarge({ a: base64(400_000) })).toBe(true);
    expect(isLarge(Array.from({ length: 100_000 }, () => 0))).toBe(true);
    expect([isLarge('x'.repeat(1_000), 999), isLarge('x'.repeat(1_000), 1_000)]).toEqual([true, false]);
  });
});

describe('a large call to a provider', () => {
  const received: { path: string; length: string | undefined; coding: string | undefined; sha256: string }[] = [];
  let server: Server;
  let upstream: { baseUrl: string; credential: string; channelId: string };
  const caller = createUpstreamCaller();
  beforeAll(async () => {
    server = createServer((request, response) => {
      const hash = createHash('sha256');
      request.on('data', (chunk: Buffer) => void hash.update(chunk));
      request.on('end', () => {
        const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
        received.push({ path: request.url ?? '', length, coding, sha256: hash.digest('hex') });
        response.writeHead(200, { 'content-type': 'application/json' }).end('{"id":"a"}');
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    upstream = { baseUrl: `http://127.0.0.1:${port}`, credential: 'x', channelId: 'ch_1' };
  });
  afterAll(async () => {
    await caller.close();
    server.close();
  });

  const body = {
    messages: [{ role: 'user', content: [{ url: `data:image/png;base64,${base64(31_000_000)}` }, 'é中\u{1F600}'] }],
  };
  const text = JSON.stringify(body);
  const arrived = { length: String(Buffer.byteLength(text)), coding: undefined, sha256: sha256(text) };

  it('arrives whole and with its length, called and streamed', async () => {
    expect(await caller.call(upstream, { method: 'POST', path: '/called', body })).toMatchObject({ status: 200 });
    const limits = { firstByteMs: 90_000, idleMs: 90_000, wholeMs: 90_000 };
    const call = {
      method: 'POST',
      path: '/streamed',
      body,
      limits,
      bodyBytesMax: 1_000,
      streamBytesMax: 1_000,
    } as const;
    expect(await caller.stream(upstream, call)).toMatchObject({ status: 200 });
    expect(received).toEqual([
      { path: '/called', ...arrived },
      { path: '/streamed', ...arrived },
    ]);
  });

  it('that is ended before it was written sends nothing', async () => {
    const before = received.length;
    const ending = new AbortController();
    const called = caller.call(upstream, { method: 'POST', path: '/ended', body, signal: ending.signal });
    ending.abort();
    expect(await called).toMatchObject({ kind: 'not_sent' });
    expect(received).toHaveLength(before);
  });

  it('to a provider that is away was not sent', async () => {
    const away = { ...upstream, baseUrl: 'http://127.0.0.1:1' };
    expect(await caller.call(away, { method: 'POST', path: '/away', body })).toMatchObject({ kind: 'not_sent' });
  });
});
