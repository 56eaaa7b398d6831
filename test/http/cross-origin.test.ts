import { afterEach, describe, expect, it } from '@jest/globals';
import { demandAllowedOrigin } from '../../src/http/middleware/allowed-origin.ts';
import type { Route } from '../../src/http/route.ts';
import { goodKey, startFrame, type Frame } from './support.ts';

const handler: Route['handler'] = (ctx) => {
  ctx.body = { ok: true };
  return Promise.resolve();
};
const shared = { dialect: 'openai', body: 'none', handler } as const;
const routes: Route[] = [
  { ...shared, method: 'POST', path: '/things/:id', auth: 'api_key', scopes: ['media'] },
  { ...shared, method: 'POST', path: '/api/internal/jobs/a', auth: 'job_token' },
  { ...shared, method: 'GET', path: '/metrics', auth: 'metrics_token' },
  { ...shared, method: 'GET', path: '/signed/:id', auth: 'signed', anyQuery: true },
];

let frame: Frame;
const start = async (origins?: string): Promise<void> => {
  frame = await startFrame({ routes, ...(origins !== undefined && { settings: { CORS_ORIGINS: origins } }) });
};
afterEach(() => frame.close());

const origin = 'https://app.example';
const call = (path: string, init: RequestInit = {}) =>
  fetch(`${frame.url}${path}`, { method: 'POST', ...init, headers: { origin, ...init.headers } });
const preflight = (path: string, headers: Record<string, string> = {}) =>
  call(path, {
    method: 'OPTIONS',
    headers: {
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type',
      ...headers,
    },
  });
const corsHeaders = (answer: Response): string[] =>
  [...answer.headers.keys()].filter((name) => name.startsWith('access-control-'));

describe('calls from a browser', () => {
  it('are not allowed by default', async () => {
    await start();
    const response = await preflight('/things/1');
    expect(response.status).toBe(405);
    expect(corsHeaders(response)).toEqual([]);
    expect(corsHeaders(await call('/things/1'))).toEqual([]);
  });

  it('are allowed to the scripts of the configured origins, with the headers that they send', async () => {
    await start(`https://other.example, ${origin}`);
    const response = await preflight('/things/1');
    expect(response.status).toBe(204);
    expect(response.headers.get('access-control-allow-origin')).toBe(origin);
    expect(response.headers.get('access-control-allow-headers')).toBe('authorization,content-type');
    expect(response.headers.get('access-control-allow-methods')).toContain('POST');
    const answer = await call('/things/1', { headers: { authorization: `Bearer ${goodKey}` } });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('access-control-allow-origin')).toBe(origin);
    expect(answer.headers.get('access-control-expose-headers')).toContain('x-request-id');
    expect(answer.headers.get('vary')).toContain('Origin');
  });

  it('are allowed to the page of a program, whose scheme is its own', async () => {
    const program = 'app://notes.example';
    await start(`${origin},${program},chrome-extension://abcdefgh`);
    const response = await preflight('/things/1', { origin: program });
    expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([204, program]);
    expect(corsHeaders(await preflight('/things/1', { origin: 'app://other.example' }))).toEqual([]);
  });

  it('can read refusals, so that a page can say what is wrong', async () => {
    await start(origin);
    const answer = await call('/things/1');
    expect(answer.status).toBe(401);
    expect(answer.headers.get('access-control-allow-origin')).toBe(origin);
  });

  it('are not allowed to scripts of other origins', async () => {
    await start('https://other.example');
    expect(corsHeaders(await preflight('/things/1'))).toEqual([]);
    expect(corsHeaders(await call('/things/1'))).toEqual([]);
  });

  it('never carry cookies, whatever the origin', async () => {
    await start('*');
    const response = await preflight('/things/1');
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(response.headers.get('access-control-allow-credentials')).toBeNull();
  });

  it.each(['/api/internal/jobs/a', '/metrics', '/nowhere'])('are never allowed to %s', async (path) => {
    await start('*');
    expect(corsHeaders(await preflight(path))).toEqual([]);
    expect(corsHeaders(await call(path))).toEqual([]);
  });

  it.each([
    'https://app.example/',
    'app.example',
    'https://app.example/path',
    'null',
    'app://notes.example/',
    'file://',
  ])('need origins as browsers send them, not %s', async (origins) => {
    await expect(startFrame({ routes, settings: { CORS_ORIGINS: origins } })).rejects.toThrow('CORS_ORIGINS');
    await start();
  });
});

describe('a route whose URL is the permission', () => {
  it.each([undefined, 'https://other.example', '*'])('is open to every page, with CORS_ORIGINS %s', async (origins) => {
    await start(origins);
    for (const init of [{ method: 'GET' }, { method: 'HEAD' }, { method: 'GET', headers: { origin: '' } }]) {
      const answer = await call('/signed/a', init);
      expect(answer.status).toBe(200);
      expect(answer.headers.get('access-control-allow-origin')).toBe('*');
      expect(answer.headers.get('access-control-expose-headers')).toMatch(/Content-Range/);
      expect(answer.headers.get('access-control-allow-credentials')).toBeNull();
    }
    const response = await preflight('/signed/a', { 'access-control-request-headers': 'range,if-range' });
    expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([204, '*']);
    expect(response.headers.get('access-control-allow-headers')).toBe('range,if-range');
  });

  it('opens no other route', async () => {
    await start();
    for (const path of ['/things/a', '/metrics', '/nowhere'])
      for (const answer of [await call(path), await preflight(path)]) expect(corsHeaders(answer)).toEqual([]);
  });
});

describe('a route for programs', () => {
  it('takes requests without an origin, and those of pages of the configured origins and of its own', async () => {
    const none = { corsOrigins: [], publicBaseUrl: '' };
    const own = { ...none, publicBaseUrl: 'https://app.example/gateway' };
    const cases = [
      [none, null, 200],
      [none, origin, 403],
      [none, 'null', 403],
      [{ ...none, corsOrigins: [origin] }, origin, 200],
      [{ ...none, corsOrigins: [origin] }, `${origin}.evil.example`, 403],
      [{ ...none, corsOrigins: ['*'] }, 'https://anybody.example', 200],
      [own, origin, 200],
      [own, 'http://app.example', 403],
    ] as const;
    frame = await startFrame({
      routes: cases.map(([settings], index) => ({
        ...shared,
        method: 'POST',
        path: `/programs/${index}`,
        auth: 'api_key',
        scopes: ['media'],
        beforeAuth: [demandAllowedOrigin({ ...settings, corsOrigins: [...settings.corsOrigins] })],
      })),
    });
    for (const [index, [, sentOrigin, status]] of cases.entries()) {
      const answer = await fetch(`${frame.url}/programs/${index}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${goodKey}`, ...(sentOrigin !== null && { origin: sentOrigin }) },
      });
      expect([index, sentOrigin, answer.status]).toEqual([index, sentOrigin, status]);
    }
  });
});
