import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { GatewayError } from '../../src/domain/errors.ts';
import type { AppMiddleware } from '../../src/http/context.ts';
import { bodyOf, type Frame, goodKey, openKey, scheduledJobToken, sendRaw, startFrame, until } from './support.ts';
import { spec } from '../spec/spec.ts';
import { auth, client, codeOf, json, routes, throwing, withCode } from './frame-routes.ts';

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

describe('keys', () => {
  it('are accepted as Bearer token, as x-api-key, and in both headers together', async () => {
    for (const headers of [
      auth,
      { authorization: `bearer ${goodKey}` },
      { 'x-api-key': goodKey },
      { ...auth, 'x-api-key': goodKey },
    ]) {
      expect((await get('/api/v1/models', headers)).status).toBe(200);
    }
  });

  it('get the same 401 whether they are missing, unknown or malformed', async () => {
    const bodies = new Set<string>();
    for (const headers of [
      {},
      { authorization: 'Bearer sk-unknown' },
      { authorization: 'Bearer' },
      { authorization: 'Basic Zm9vOmJhcg==' },
      { authorization: `Bearer ${goodKey.slice(0, -1)}1` },
      { authorization: `Bearer sk-a b` },
      { 'x-api-key': 'sk-\u00e9\u00e9' },
      { 'x-api-key': `sk-${'a'.repeat(10_000)}` },
      { 'x-goog-api-key': goodKey },
    ] as Record<string, string>[]) {
      const answer = await get('/api/v1/models', headers);
      expect(answer.status).toBe(401);
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
      expect(answer.headers.get('x-should-retry')).toBe('false');
      bodies.add(await answer.text());
    }
    expect([...bodies].map((text) => JSON.parse(text) as unknown)).toEqual([
      {
        error: {
          message: 'The API key is not valid.',
          type: 'authentication_error',
          param: null,
          code: 'invalid_api_key',
        },
      },
    ]);
  });

  it('are not looked up if they are malformed', async () => {
    const before = frame.lookups.length;
    await get('/api/v1/models', { 'x-api-key': 'sk-a b' });
    await get('/api/v1/models', { 'x-api-key': `sk-${'a'.repeat(10_000)}` });
    await get('/api/v1/models', {});
    expect(frame.lookups.length).toBe(before);
  });

  it('are refused as ambiguous if a request has two different ones, even in two Authorization headers', async () => {
    const answer = await get('/api/v1/models', { ...auth, 'x-api-key': 'sk-other' });
    expect([answer.status, await codeOf(answer)]).toEqual([400, 'ambiguous_credentials']);
    const raw = await sendRaw(
      frame.url,
      `GET /api/v1/models HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${goodKey}\r\nAuthorization: Bearer sk-other\r\nConnection: close\r\n\r\n`,
    );
    expect(raw).toMatch(/^HTTP\/1\.1 400 /);
  });

  it('are accepted as x-goog-api-key on Gemini routes', async () => {
    const answer = await post('/api/v1beta/models/m', '{}', {
      'x-goog-api-key': goodKey,
      'content-type': 'application/json',
    });
    expect(answer.status).toBe(200);
  });

  it('are refused in the query string even if a header has a valid key, and the query is never logged', async () => {
    const leaked = `sk-${'Leak'.repeat(10)}000000`;
    for (const query of [`key=${leaked}`, 'api_key=abc', `x=${leaked}`, `x=sk%2D${'Leak'.repeat(10)}`, `${leaked}=1`]) {
      const answer = await get(`/api/v1/models?${query}`);
      const text = await answer.clone().text();
      expect([answer.status, await codeOf(answer)]).toEqual([401, 'invalid_api_key']);
      // The key may be a good one: a client that hears it is not would look for the fault in the wrong place.
      expect(text).toMatch(/in the query string is refused.* in a header/);
    }
    await get(`/nowhere/${leaked}`);
    expect(frame.logText()).not.toContain('Leak');
    expect(frame.logText()).not.toContain(goodKey);
  });

  it('are checked before the server reads the body', async () => {
    const raw = await sendRaw(
      frame.url,
      'POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{',
    );
    expect(raw).toMatch(/^HTTP\/1\.1 401 /);
    expect(raw).toMatch(/connection: close/i);
  });

  it('are checked, like the headers, before the server sends 100 Continue', async () => {
    const head = 'POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 2\r\nExpect: 100-continue\r\n';
    const refused = await sendRaw(frame.url, `${head}Content-Type: application/json\r\n\r\n`);
    expect(refused).toMatch(/^HTTP\/1\.1 401 /);
    const unsupported = await sendRaw(frame.url, `${head}Authorization: Bearer ${goodKey}\r\n\r\n`);
    expect(unsupported).toMatch(/^HTTP\/1\.1 415 /);
    const accepted = await sendRaw(
      frame.url,
      `${head}Authorization: Bearer ${goodKey}\r\nContent-Type: application/json\r\n\r\n`,
      '{}',
    );
    expect(accepted).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);
  });

  it('get 429 after repeated failures from one address, while a valid key is still accepted', async () => {
    const strict = await startFrame({ routes, settings: { AUTH_FAILURES_PER_MINUTE_MAX: '20' } });
    const statuses: number[] = [];
    let last: Response | undefined;
    for (let tries = 0; tries < 21; tries += 1) {
      last = await fetch(`${strict.url}/api/v1/models`, { headers: { 'x-api-key': `sk-${tries}` } });
      statuses.push(last.status);
    }
    expect(statuses).toEqual([...Array.from({ length: 20 }, () => 401), 429]);
    expect(Number(last?.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect((await fetch(`${strict.url}/api/v1/models`, { headers: auth })).status).toBe(200);
    await strict.close({ drainSeconds: 0 });
  });
});

describe('job tokens', () => {
  it('are accepted if they are configured; an API key or a token in another header is refused', async () => {
    spec('5 scheduler endpoints');
    const call = (headers: Record<string, string>): Promise<Response> =>
      fetch(`${frame.url}/job`, { method: 'POST', headers });
    expect((await call({ authorization: `Bearer ${scheduledJobToken}` })).status).toBe(200);
    expect((await call({ authorization: `Bearer ${'x'.repeat(40)}` })).status).toBe(200);
    for (const headers of [
      {},
      auth,
      { 'x-api-key': scheduledJobToken },
      { authorization: `Bearer ${scheduledJobToken}x` },
    ] as Record<string, string>[]) {
      const answer = await call(headers);
      expect([answer.status, await codeOf(answer)]).toEqual([401, 'invalid_job_token']);
    }
  });

  it('are refused as API keys', async () => {
    expect(await codeOf(await get('/api/v1/models', { authorization: `Bearer ${scheduledJobToken}` }))).toBe(
      'invalid_api_key',
    );
  });

  it('leave the job routes at 503 while none is configured', async () => {
    spec('5 scheduler endpoints');
    const closed = await startFrame({ routes, settings: { INTERNAL_JOB_TOKENS: '' } });
    const answer = await fetch(`${closed.url}/job`, { method: 'POST', headers: { authorization: 'Bearer ' } });
    expect([answer.status, await codeOf(answer)]).toEqual([503, 'service_unavailable']);
    await closed.close({ drainSeconds: 0 });
  });
});

describe('the rate limit of a route whose handler counts requests', () => {
  const limited = { ...openKey, rpm: 2 };
  const counting: AppMiddleware = (ctx) => {
    ctx.state.rateCounted = true;
    return Promise.reject(new GatewayError('insufficient_credits'));
  };
  const chat = { ...client, method: 'POST', dialect: 'openai', body: 'json', rate: 'in_handler' } as const;
  const own = [
    { ...chat, path: '/counting', handler: counting },
    { ...chat, path: '/away', handler: throwing(() => withCode('57P01')) },
    { ...chat, path: '/refusing', handler: throwing(() => new GatewayError('no_channel_available')) },
  ];
  const head = (path: string, length: number): string =>
    `POST ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nx-api-key: ${goodKey}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;

  let counted = 0;
  let strict: Frame;
  beforeAll(async () => {
    const hit = () => {
      counted += 1;
      const admitted = counted <= limited.rpm;
      const retryAfterSeconds = admitted ? null : 7;
      return Promise.resolve({ admitted, remaining: Math.max(0, 2 - counted), resetSeconds: 60, retryAfterSeconds });
    };
    const deps = { authenticate: () => Promise.resolve(limited), rateLimiter: { hit } };
    strict = await startFrame({ routes: own, settings: { REQUEST_TIMEOUT_SECONDS: '1' }, deps });
  });
  beforeEach(() => {
    counted = 0;
  });
  afterAll(() => strict.close({ drainSeconds: 0 }));

  it('counts requests that are refused before the handler runs, and answers 429 once it is exceeded', async () => {
    for (const [path, body, status] of [
      ['/counting', '{', 400],
      ['/refusing', '{}', 503],
      ['/counting', '{', 429],
      ['/refusing', '{}', 429],
    ] as const) {
      const raw = await sendRaw(strict.url, head(path, body.length), body);
      expect(raw).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      expect(raw).toMatch(status === 429 ? /\r\nretry-after: 7\r\n/i : /\r\nx-ratelimit-limit-requests: 2\r\n/i);
    }
    expect(counted).toBe(4);
  });

  it('counts a request whose body does not arrive in time or whose client hangs up', async () => {
    expect(await sendRaw(strict.url, head('/counting', 20), '{')).toMatch(/^HTTP\/1\.1 408 /);
    expect(counted).toBe(1);
    const { hostname, port } = new URL(strict.url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined).write(`${head('/counting', 20)}{`, () => socket.resetAndDestroy());
    await until(() => counted === 2);
  });

  it('counts no request twice, and does not query a database that has just failed', async () => {
    expect(await sendRaw(strict.url, head('/counting', 2), '{}')).toMatch(/^HTTP\/1\.1 402 /);
    expect(await sendRaw(strict.url, head('/away', 2), '{}')).toMatch(/^HTTP\/1\.1 503 /);
    expect(counted).toBe(0);
  });
});

describe('errors', () => {
  it('are 404 for an unknown path and 405 with Allow for a wrong method, in the dialect of the path', async () => {
    for (const path of ['/nowhere', '/api/v1/models/', '/API/v1/models', '/%ff', '//x']) {
      const missing = await get(path);
      expect([missing.status, await codeOf(missing)]).toEqual([404, 'not_found']);
    }
    const wrong = await post('/api/v1/models', '{}');
    expect([wrong.status, wrong.headers.get('allow'), await codeOf(wrong)]).toEqual([
      405,
      'GET, HEAD',
      'method_not_allowed',
    ]);
    expect((await fetch(`${frame.url}/echo`, { method: 'OPTIONS' })).headers.get('allow')).toBe('POST');
    expect(await (await get('/api/v1beta/nothing')).json()).toMatchObject({
      error: { code: 404, status: 'NOT_FOUND' },
    });
    const gemini = await get('/api/v1beta/models/m');
    expect(await gemini.json()).toMatchObject({ error: { code: 405, status: 'INVALID_ARGUMENT' } });
  });

  it('have the same content in each of the three dialects', async () => {
    spec('7 error body');
    expect(await (await post('/legacy', '[]')).json()).toEqual({
      success: false,
      error: {
        message: 'The body must be a JSON object.',
        type: 'invalid_request_error',
        param: null,
        code: 'invalid_json',
      },
    });
    expect(await (await post('/api/v1beta/models/m', '{}', {})).json()).toMatchObject({
      error: { code: 401, status: 'UNAUTHENTICATED', details: [{ reason: 'INVALID_API_KEY', domain: 'tollgate' }] },
    });
  });

  it('are 503 with Retry-After while the database is unreachable, at any depth of the error chain', async () => {
    for (const path of ['/throws/pg', '/throws/refused', '/throws/pool']) {
      const answer = await get(path);
      expect([answer.status, answer.headers.get('retry-after'), await codeOf(answer)]).toEqual([
        503,
        '1',
        'service_unavailable',
      ]);
    }
    const away = await startFrame({ routes, deps: { authenticate: () => Promise.reject(withCode('ECONNREFUSED')) } });
    expect((await fetch(`${away.url}/api/v1/models`, { headers: auth })).status).toBe(503);
    await away.close({ drainSeconds: 0 });
  });

  it('are a constant 500 for a bug, which is logged with its path but without SQL statements or values', async () => {
    for (const path of ['/throws/bug', '/throws/unique', '/bigint']) {
      const answer = await get(path);
      expect(answer.status).toBe(500);
      expect(await answer.json()).toEqual({
        error: {
          message: 'Something went wrong on our side.',
          type: 'server_error',
          param: null,
          code: 'internal_error',
        },
      });
      const id = answer.headers.get('x-request-id');
      expect(frame.lines.find(({ msg, request_id }) => msg === 'request failed' && request_id === id)).toMatchObject({
        level: 50,
        path,
      });
    }
    expect(frame.logText()).not.toContain('canary prompt');
  });

  it('have Retry-After if a retry can help and x-should-retry: false if it cannot', async () => {
    expect((await get('/throws/rate')).headers.get('retry-after')).toBe('7');
    expect((await get('/throws/rate')).headers.get('x-should-retry')).toBeNull();
    const credits = await get('/throws/credits');
    expect([credits.status, credits.headers.get('x-should-retry')]).toEqual([402, 'false']);
  });
});

describe('a request that the HTTP parser refuses', () => {
  const head = `Host: a\r\nx-api-key: ${goodKey}\r\nContent-Type: application/json\r\n`;

  it.each([
    ['bytes that are not HTTP', 'HELLO\r\n\r\n', 400],
    ['a Content-Length that is not a number', `POST /echo HTTP/1.1\r\n${head}Content-Length: abc\r\n\r\n{}`, 400],
    [
      'Content-Length and Transfer-Encoding',
      `POST /echo HTTP/1.1\r\n${head}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
    ],
    [
      'Transfer-Encoding and Content-Length',
      `POST /echo HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n`,
      400,
    ],
    ['an invalid chunk size', `POST /echo HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n`, 400],
    ['a key with a line break', 'GET /api/v1/models HTTP/1.1\r\nHost: a\r\nx-api-key: sk-a\nb\r\n\r\n', 400],
    ['no Host', 'GET /api/v1/models HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    ['two Hosts', 'GET /api/v1/models HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n', 400],
    ...['gzip, chunked', 'chunked, gzip, chunked', 'identity', 'gzip'].map((coding): [string, string, number] => [
      `Transfer-Encoding ${coding}`,
      `POST /echo HTTP/1.1\r\n${head}Transfer-Encoding: ${coding}\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
      400,
    ]),
    ['CONNECT', 'CONNECT example.com:443 HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ...['http://', 'http://?x', 'http://[::1', 'http://[fe80::1%25eth0]/livez', '//a@[::1#b'].map(
      (target): [string, string, number] => [
        `the target ${target}`,
        `GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
        400,
      ],
    ),
    ['headers above 16 kB', `GET / HTTP/1.1\r\nHost: a\r\nx-api-key: ${'a'.repeat(17_000)}\r\n\r\n`, 431],
  ])('gets an error body and a request id: %s', async (_what, bytes, status) => {
    const raw = await sendRaw(frame.url, bytes);
    expect(raw.slice(0, 13)).toBe(`HTTP/1.1 ${status} `);
    expect(raw).toMatch(/x-request-id: req_/i);
    expect(bodyOf(raw)).toMatchObject({ error: { type: 'invalid_request_error' } });
  });

  it('gets its error in the dialect of the route if its transfer coding is not chunked, in any spelling', async () => {
    const send = (path: string, ...codings: string[]) => {
      const lines = codings.map((coding) => `Transfer-Encoding: ${coding}\r\n`).join('');
      return sendRaw(
        frame.url,
        `POST ${path} HTTP/1.1\r\n${head}Connection: close\r\n${lines}\r\n2\r\n{}\r\n0\r\n\r\n`,
      );
    };
    const error = { code: 'invalid_value', param: 'Transfer-Encoding' };
    expect(bodyOf(await send('/echo', 'gzip, chunked'))).toMatchObject({ error });
    expect(bodyOf(await send('/echo', 'gzip', 'chunked'))).toMatchObject({ error });
    expect(bodyOf(await send('/legacy', 'gzip, chunked'))).toMatchObject({ success: false, error });
    expect(bodyOf(await send('/api/v1beta/models/x:generateContent', 'gzip, chunked'))).toMatchObject({
      error: { code: 400, status: 'INVALID_ARGUMENT' },
    });
    expect(await send('/echo', 'Chunked')).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('does not stop the server, which also accepts a target with scheme and host', async () => {
    const raw = await sendRaw(
      frame.url,
      'GET http://example.com/livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
    );
    expect(raw).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('gets 408 if its headers do not arrive in time', async () => {
    const hasty = await startFrame({ routes, settings: { HEADERS_TIMEOUT_SECONDS: '0.2' } });
    const raw = await sendRaw(hasty.url, 'GET /api/v1/models HTTP/1.1\r\nHo');
    expect(raw).toMatch(/^HTTP\/1\.1 408 /);
    expect(bodyOf(raw)).toMatchObject({ error: { code: 'request_timeout' } });
    await hasty.close({ drainSeconds: 0 });
  });
});

describe('every response', () => {
  it("carries the server's request id, which is logged together with the client's", async () => {
    const answer = await get('/api/v1/models/some-model?secret=1', { ...auth, 'x-request-id': 'their-id' });
    const id = answer.headers.get('x-request-id');
    expect(id).toMatch(/^req_[0-9a-z]{26}$/);
    await until(() => frame.lines.some(({ request_id }) => request_id === id));
    expect(frame.lines.find(({ request_id }) => request_id === id)).toMatchObject({
      client_request_id: 'their-id',
      method: 'GET',
      path: '/api/v1/models/:model',
      status: 400,
      key_id: 'key_1',
      project_id: 'prj_1',
    });
    expect((await get('/nowhere', { 'x-request-id': 'their-id' })).headers.get('x-request-id')).toMatch(/^req_/);
  });

  it('forbids MIME sniffing and storing, and does not name the framework', async () => {
    for (const path of ['/api/v1/models', '/nowhere', '/livez']) {
      const { headers } = await get(path);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('x-powered-by')).toBeNull();
    }
  });
});
