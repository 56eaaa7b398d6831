import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { bodyOf, type Frame, goodKey, scheduledJobToken, sendRaw, startFrame, until } from './support.ts';
import { auth, codeOf, json, routes } from './frame-routes.ts';

let frame: Frame;
beforeAll(async () => {
  frame = await startFrame({ routes, settings: { AUTH_FAILURES_PER_MINUTE_MAX: '1000' } });
});
afterAll(async () => {
  await frame.close({ drainSeconds: 0 });
});

const get = (path: string, headers: Record<string, string> = auth): Promise<Response> =>
  fetch(frame.url + path, { headers });
const post = (
  path: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = json,
): Promise<Response> => fetch(frame.url + path, { method: 'POST', headers, body });

describe('a request body', () => {
  it('reaches the handler as a JSON object for any spelling of its content type, and its last duplicate key wins', async () => {
    for (const type of ['application/json', 'Application/JSON; charset=UTF-8', 'application/json;charset="utf8"']) {
      const answer = await post('/echo', '{"a":1,"a":"\u{1F600}\\ud83d\\ude00"}', { ...auth, 'content-type': type });
      expect(await answer.json()).toEqual({ got: { a: '\u{1F600}\u{1F600}' }, key: 'key_1' });
    }
  });

  it('of any other content type, charset or encoding gets 415', async () => {
    for (const headers of [
      {},
      { 'content-type': 'text/plain' },
      { 'content-type': 'application/x-www-form-urlencoded' },
      { 'content-type': 'application/json; charset=utf-16' },
      { 'content-type': 'application/jsonp' },
      { 'content-type': ';' },
      { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    ] as Record<string, string>[]) {
      const answer = await post('/echo', Buffer.from('{}'), { ...auth, ...headers });
      expect([answer.status, await codeOf(answer)]).toEqual([415, 'unsupported_media_type']);
    }
  });

  it.each<[string, string | Uint8Array<ArrayBuffer>]>([
    ['nothing', ''],
    ['an open brace', '{'],
    ['NaN', '{"a":NaN}'],
    ['a trailing comma', '{"a":1,}'],
    ['a byte order mark', Buffer.from('\ufeff{}')],
    ['UTF-16', Buffer.from('{}', 'utf16le')],
    ['invalid UTF-8', Uint8Array.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ['an array', '[]'],
    ['a string', '"a"'],
    ['null', 'null'],
    ['32 nested arrays in an object', `{"a":${'['.repeat(32)}${']'.repeat(32)}}`],
    ['400,000 unclosed levels', `{"a":${'['.repeat(400_000)}`],
    ['400,000 closed levels', `{"a":${'['.repeat(400_000)}${']'.repeat(400_000)}}`],
    ['__proto__', '{"a":{"__proto__":{"polluted":1}}}'],
    ['an escaped NUL', '{"a":"x\\u0000"}'],
    ['a lone surrogate', '{"a":["\\ud800"]}'],
    ['a lone surrogate in a key', '{"\\udc00":1}'],
    ['an infinite number', '{"a":1e999}'],
  ])('with %s is refused as invalid_json', async (_what, body) => {
    const answer = await post('/echo', body);
    expect([answer.status, await codeOf(answer)]).toEqual([400, 'invalid_json']);
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
  });

  it('with the key __proto__ is refused by its name', async () => {
    const answer = await post('/echo', '{"a":[{"__proto__":1}]}');
    expect(await answer.json()).toMatchObject({ error: { code: 'invalid_json', param: '__proto__' } });
  });

  it.each(['constructor', 'prototype'])('may have the key %s, which changes no prototype', async (key) => {
    const answer = await post('/echo', `{"a":[{"${key}":{"prototype":{"polluted":1}}}]}`);
    expect(answer.status).toBe(200);
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
  });

  it('may have 32 levels', async () => {
    expect((await post('/echo', `{"a":${'['.repeat(31)}${']'.repeat(31)}}`)).status).toBe(200);
  });

  it('may have 4 MB, and gets 413 above that', async () => {
    const ofBytes = (bytes: number): string => JSON.stringify({ a: 'x'.repeat(bytes - 8) });
    expect((await post('/echo', ofBytes(4_000_000))).status).toBe(200);
    const answer = await post('/echo', ofBytes(4_000_001));
    expect([answer.status, await codeOf(answer)]).toEqual([413, 'payload_too_large']);
  });

  it('without an end gets 413, and the server closes the connection', async () => {
    const { hostname, port } = new URL(frame.url);
    const socket = connect(Number(port), hostname);
    let answer = '';
    socket.on('data', (data) => (answer += data.toString('latin1')));
    socket.on('error', () => undefined);
    socket.write(
      `POST /echo HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${goodKey}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    const chunk = `10000\r\n${'a'.repeat(0x10000)}\r\n`;
    let sent = 0;
    let open = true;
    const closed = new Promise<void>((resolve) => {
      socket.once('close', () => {
        open = false;
        resolve();
      });
    });
    while (open && sent < 200_000_000) {
      sent += chunk.length;
      if (!socket.write(chunk)) await Promise.race([once(socket, 'drain'), closed]).catch(() => undefined);
    }
    expect(open).toBe(false);
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
  });

  it('of a client on a slow line that is refused is read to its end, so that no reset destroys the answer', async () => {
    // The bytes of other tests count too among those that a server discards in a second.
    const own = await startFrame({ routes });
    const { hostname, port } = new URL(own.url);
    const socket = connect(Number(port), hostname);
    const errors: Error[] = [];
    let answer = '';
    socket.on('data', (data) => (answer += data.toString('latin1')));
    socket.on('error', (error) => errors.push(error));
    const pieces = 25;
    const piece = 'a'.repeat(500_000);
    socket.write(
      `POST /echo HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${goodKey}\r\nContent-Type: application/json\r\nContent-Length: ${pieces * piece.length}\r\n\r\n`,
    );
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    let sent = 0;
    for (; sent < pieces && !socket.destroyed; sent += 1) {
      socket.write(piece);
      await sleep(100);
    }
    await closed;
    await own.close({ drainSeconds: 0 });
    expect([answer.split('\r\n')[0], sent, errors]).toEqual(['HTTP/1.1 413 Payload Too Large', pieces, []]);
  });

  it('that is refused is read to its end, though the process that reads it pauses', async () => {
    const own = await startFrame({ routes });
    const { hostname, port } = new URL(own.url);
    const socket = connect(Number(port), hostname);
    const errors: Error[] = [];
    socket.on('error', (error) => errors.push(error)).resume();
    const piece = 'a'.repeat(500_000);
    const length = 20 * piece.length;
    socket.write(
      `POST /echo HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${goodKey}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${piece}`,
    );
    await new Promise<void>((resolve) => socket.once('data', () => resolve()));
    // Longer than the server waits for the next bytes, which are there when it wakes.
    socket.write(piece);
    for (const wakesAt = performance.now() + 1_200; performance.now() < wakesAt;);
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    for (let sent = 2; sent < 20; sent += 1) await new Promise<void>((resolve) => socket.write(piece, () => resolve()));
    await closed;
    await own.close({ drainSeconds: 0 });
    expect([errors, socket.bytesWritten > length]).toEqual([[], true]);
  });

  it('gets 503 while all bodies together fill the memory budget, which is freed when a client hangs up', async () => {
    const small = await startFrame({ routes, settings: { BODIES_BUFFERED_MAX_BYTES: '1000' } });
    const body = JSON.stringify({ text: 'x'.repeat(600) });
    const head = `POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\nx-api-key: ${goodKey}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    const { hostname, port } = new URL(small.url);
    const slow = connect(Number(port), hostname);
    slow.on('error', () => undefined).write(head + body.slice(0, -1));
    let raw = '';
    // The first body has reserved its bytes only when the second is refused.
    for (let tries = 0; tries < 100 && !raw.startsWith('HTTP/1.1 503'); tries += 1) {
      raw = await sendRaw(small.url, head, body);
    }
    expect(raw).toMatch(/^HTTP\/1\.1 503 [^]*retry-after: 2/i);
    expect(bodyOf(raw)).toMatchObject({ error: { code: 'overloaded' } });
    slow.destroy();
    await until(() => small.lines.some(({ status }) => status === 499));
    expect(await sendRaw(small.url, head, body)).toMatch(/^HTTP\/1\.1 200 /);
    expect(await sendRaw(small.url, head, body)).toMatch(/^HTTP\/1\.1 200 /);
    await small.close({ drainSeconds: 0 });
  });

  it('that does not arrive in time gets 408', async () => {
    const hasty = await startFrame({ routes, settings: { REQUEST_TIMEOUT_SECONDS: '0.2' } });
    const raw = await sendRaw(
      hasty.url,
      `POST /legacy HTTP/1.1\r\nHost: a\r\nx-api-key: ${goodKey}\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{"a"`,
    );
    expect(raw).toMatch(/^HTTP\/1\.1 408 /);
    expect(bodyOf(raw)).toMatchObject({ success: false, error: { code: 'request_timeout' } });
    await hasty.close({ drainSeconds: 0 });
  });

  it('that stalls gets 408 after seconds, however long it may take and however much has arrived', async () => {
    const body = JSON.stringify({ text: 'x'.repeat(100_000) });
    const head = `POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\nx-api-key: ${goodKey}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    const { hostname, port } = new URL(frame.url);
    const socket = connect(Number(port), hostname);
    let raw = '';
    socket.on('data', (data: Buffer) => (raw += data.toString()));
    socket.write(head + body.slice(0, -1));
    await once(socket, 'close');
    expect(raw).toMatch(/^HTTP\/1\.1 408 /);
    expect(bodyOf(raw)).toMatchObject({
      error: { code: 'request_timeout', message: expect.stringContaining('slowly') },
    });
  });

  it('with more than 10,000 fields in one object gets 400', async () => {
    const wide = (fields: number): string =>
      JSON.stringify({ a: Object.fromEntries(Array.from({ length: fields }, (_, index) => [`f${index}`, 0])) });
    const send = (body: string): Promise<Response> =>
      fetch(`${frame.url}/echo`, {
        method: 'POST',
        headers: { authorization: `Bearer ${goodKey}`, 'content-type': 'application/json' },
        body,
      });
    expect((await send(wide(10_000))).status).toBe(200);
    expect((await send(wide(10_001))).status).toBe(400);
  });

  it('whose client hangs up in the middle causes one log line below warning level', async () => {
    const { hostname, port } = new URL(frame.url);
    const before = frame.lines.length;
    const socket = connect(Number(port), hostname);
    socket.write(
      `POST /echo HTTP/1.1\r\nHost: a\r\nx-api-key: ${goodKey}\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{"a"`,
    );
    const lookupsBefore = frame.lookups.length;
    await until(() => frame.lookups.length > lookupsBefore);
    socket.destroy();
    await until(() => frame.lines.slice(before).some(({ status }) => status === 499));
    expect(frame.lines.slice(before).filter(({ level }) => Number(level) >= 40)).toEqual([]);
  });

  it('of a GET request is ignored', async () => {
    const raw = await sendRaw(
      frame.url,
      `GET /api/v1/models HTTP/1.1\r\nHost: a\r\nx-api-key: ${goodKey}\r\nContent-Length: 3\r\nConnection: close\r\n\r\n{{{`,
    );
    expect(raw).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe('a query parameter', () => {
  it.each([
    ['GET', '/api/v1/models', 'openai'],
    ['HEAD', '/api/v1/models', 'openai'],
    ['GET', '/list', 'openai'],
    ['POST', '/echo', 'openai'],
    ['POST', '/legacy', 'legacy'],
    ['POST', '/api/v1beta/models/m', 'gemini'],
    ['POST', '/job', 'openai'],
  ])('that the route does not know is 400 unsupported_parameter: %s %s', async (method, path, dialect) => {
    const token = path === '/job' ? scheduledJobToken : goodKey;
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const body = method === 'POST' ? { body: '{}' } : {};
    const answer = await fetch(`${frame.url}${path}?limit_=5`, { method, headers, ...body });
    expect(answer.status).toBe(400);
    if (method === 'HEAD') return;
    const error = { code: 'unsupported_parameter', param: 'limit_' };
    expect(await answer.json()).toMatchObject(
      {
        openai: { error },
        legacy: { success: false, error },
        gemini: {
          error: { code: 400, details: [{ reason: 'UNSUPPORTED_PARAMETER', metadata: { param: 'limit_' } }] },
        },
      }[dialect] ?? {},
    );
  });

  it('that is unknown is named only to a caller with a valid key', async () => {
    expect((await get('/api/v1/models?page=1', {})).status).toBe(401);
    expect(await (await get(`/api/v1/models?${'x'.repeat(200)}=1`)).json()).toMatchObject({
      error: { param: `${'x'.repeat(77)}...` },
    });
    expect((await get('/api/v1/models?')).status).toBe(200);
  });

  it('that the route knows is obeyed, and refused with its name if it has no valid value', async () => {
    for (const [query, limit] of Object.entries({ '': 50, '?limit=': 50, '?limit=1': 1, '?limit=100': 100 })) {
      expect(await (await get(`/list${query}`)).json()).toEqual({ limit });
    }
    for (const query of ['0', '101', '-1', '1.5', 'ten', '1e2', '1&limit=2']) {
      const answer = await get(`/list?limit=${query}`);
      expect(await answer.json()).toMatchObject({ error: { code: 'invalid_value', param: 'limit' } });
    }
  });
});
