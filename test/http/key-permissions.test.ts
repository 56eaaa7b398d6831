import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AuthenticatedKey } from '../../src/domain/projects/authenticated-key.ts';
import { scopes, type Scope } from '../../src/domain/projects/scope.ts';
import type { Route } from '../../src/http/route.ts';
import { createRoutes, type RouteDeps } from '../../src/http/create-routes.ts';
import { openKey, startFrame, type Frame } from './support.ts';
import { standIn } from '../support/stand-in.ts';

/** Every route behind an API key, with the scopes that open it. */
const matrix: Record<string, readonly Scope[]> = {
  'GET /api/v1/models': ['chat', 'media', 'read'],
  'GET /api/v1/models/:model': ['chat', 'media', 'read'],
  'POST /api/v1/chat/completions': ['chat'],
  'POST /v1/chat/completions': ['chat'],
  'POST /v1/responses': ['chat'],
  'POST /v1/messages': ['chat'],
  'POST /v1/messages/count_tokens': ['chat'],
  'POST /v1/responses/input_tokens': ['chat'],
  'POST /v1beta/models/:model\\:countTokens': ['chat'],
  'POST /v1/models/:model\\:countTokens': ['chat'],
  'POST /api/v1/images/upload': ['media'],
  'POST /api/v1/images/generate': ['media'],
  'POST /api/v1/video/generate': ['media'],
  'GET /api/v1/tasks': ['read'],
  'GET /api/v1/tasks/:task_id': ['media', 'read'],
  'GET /api/v1/tasks/:task_id/events': ['media', 'read'],
  'DELETE /api/v1/tasks/:task_id': ['media'],
  'GET /api/v1/tasks/:task_id/deliveries': ['media', 'read'],
  'GET /api/v1/tasks/:task_id/attempts': ['media', 'read'],
  'POST /api/v1/tasks/:task_id/cancel': ['media'],
  'POST /api/v1/tasks/:task_id/callback/redeliver': ['media'],
  'GET /api/v1/webhooks/events': ['read'],
  'GET /api/v1/key': ['chat', 'media', 'read'],
  'POST /api/v1/key/rotate': ['chat', 'media', 'read'],
  'GET /api/v1/usage': ['read'],
  'GET /api/v1/ledger': ['read'],
  'POST /api/v1/api/generate': ['media'],
  'GET /api/v1/api/result': ['media', 'read'],
  'GET /api/v1/video/status': ['media', 'read'],
  'GET /api/v1/internal/workflow-status': ['media', 'read'],
  'POST /api/v1beta/models/:model\\:generateContent': ['chat', 'media'],
  'POST /api/v1beta/models/:model\\:streamGenerateContent': ['chat', 'media'],
  'GET /v1/models': scopes,
  'GET /v1/models/:model': scopes,
  'POST /v1/images/generations': ['media'],
  'POST /v1/images/edits': ['media'],
  'POST /v1/videos': ['media'],
  'GET /v1/videos': ['read'],
  'GET /v1/videos/:video_id': ['media', 'read'],
  'DELETE /v1/videos/:video_id': ['media'],
  'GET /v1/videos/:video_id/content': ['media', 'read'],
  'GET /api/v1beta/models': scopes,
  'GET /api/v1beta/models/:model': scopes,
  'GET /v1beta/models': scopes,
  'GET /v1beta/models/:model': scopes,
  'POST /api/v1/models/:model\\:generateContent': ['chat', 'media'],
  'POST /api/v1/models/:model\\:streamGenerateContent': ['chat', 'media'],
  'POST /v1beta/models/:model\\:generateContent': ['chat', 'media'],
  'POST /v1beta/models/:model\\:streamGenerateContent': ['chat', 'media'],
  'POST /v1/models/:model\\:generateContent': ['chat', 'media'],
  'POST /v1/models/:model\\:streamGenerateContent': ['chat', 'media'],
  'POST /api/v1beta/models/:model\\:predict': ['media'],
  'POST /api/v1/models/:model\\:predict': ['media'],
  'POST /v1beta/models/:model\\:predict': ['media'],
  'POST /v1/models/:model\\:predict': ['media'],
  'POST /v1beta1/publishers/google/models/:model\\:predict': ['media'],
  'POST /mcp': scopes,
  'GET /dashboard/billing/subscription': scopes,
  'GET /v1/dashboard/billing/subscription': scopes,
  'GET /dashboard/billing/usage': scopes,
  'GET /v1/dashboard/billing/usage': scopes,
  'GET /api/usage/token': scopes,
  'GET /api/usage/token/': scopes,
  'GET /key/info': scopes,
  'GET /model/info': scopes,
  'GET /v1/model/info': scopes,
};

/** Stands for every dependency: the table is built with it, and no handler runs. */
const anything: object = new Proxy(() => 1, {
  get: (_, name) => (name === Symbol.toPrimitive ? () => 1 : anything),
  apply: () => anything,
});
const table = createRoutes(anything as RouteDeps).filter(({ auth }) => auth === 'api_key');
const nameOf = ({ method, path }: Route): string => `${method} ${path}`;

const secretOf = (index: number): string => `sk-${String(index).repeat(46)}`;
const keys: AuthenticatedKey[] = [
  ...scopes.map((scope) => ({ ...openKey, scopes: [scope] })),
  { ...openKey, ipRanges: ['203.0.113.0/24', '2001:db8::/32'] },
];
const fenced = secretOf(scopes.length);

const frames: Frame[] = [];
async function start(settings: Record<string, string> = {}): Promise<Frame> {
  const fine: Route['handler'] = (ctx) => {
    ctx.set(standIn, 'true');
    ctx.body = { ok: true };
    return Promise.resolve();
  };
  const frame = await startFrame({
    routes: table.map((route): Route => ({ ...route, body: 'none', beforeBody: [], handler: fine })),
    settings,
    deps: { authenticate: (secret) => Promise.resolve(keys[Number(secret[3])] ?? null) },
  });
  frames.push(frame);
  return frame;
}
afterAll(() => Promise.all(frames.map((frame) => frame.close({ drainSeconds: 0 }))));

async function ask({ url }: Frame, name: string, secret: string, headers: Record<string, string> = {}) {
  const [method = '', path = ''] = name.split(' ');
  const answer = await fetch(url + path.replace('\\:', ':').replace(/:(model|task_id|video_id)/, 'any'), {
    method,
    headers: { 'x-api-key': secret, ...headers },
  });
  return { status: answer.status, text: await answer.text() };
}

describe('the scopes of a key', () => {
  let frame: Frame;
  beforeAll(async () => {
    frame = await start();
  });

  it('are declared by every route behind an API key', () => {
    expect(Object.fromEntries(table.map((route) => [nameOf(route), route.scopes]))).toEqual(matrix);
  });

  it('open exactly their routes, and every other one answers 403 in its dialect', async () => {
    for (const route of table) {
      const name = nameOf(route);
      for (const [index, scope] of scopes.entries()) {
        const { status, text } = await ask(frame, name, secretOf(index));
        const isOpen = matrix[name]?.includes(scope);
        expect([name, scope, status]).toEqual([name, scope, isOpen ? 200 : 403]);
        if (isOpen) continue;
        expect(text).toContain(route.dialect === 'gemini' ? '"reason":"SCOPE_NOT_ALLOWED"' : '"scope_not_allowed"');
        expect(text).toContain(`This key has ${scope}.`);
        expect(text.includes('"success":false')).toBe(route.dialect.startsWith('legacy'));
      }
    }
  });
});

describe('the addresses of a key', () => {
  const models = 'GET /api/v1/models';
  const from = (frame: Frame, forwarded: string) => ask(frame, models, fenced, { 'x-forwarded-for': forwarded });

  it('are the only ones from which it is accepted, for IPv4 and IPv6', async () => {
    const frame = await start({ TRUST_PROXY: '127.0.0.0/8' });
    for (const inside of [
      '203.0.113.9',
      '203.0.113.9:4711',
      '2001:db8::9',
      '[2001:db8::9]:4711',
      '::ffff:203.0.113.9',
    ]) {
      expect([inside, (await from(frame, inside)).status]).toEqual([inside, 200]);
    }
    for (const outside of ['203.0.114.9', '2001:db9::9', 'unknown', '203.0.113.0/24', '']) {
      const { status, text } = await from(frame, outside);
      expect([outside, status]).toEqual([outside, 403]);
      expect(text).toContain('"ip_not_allowed"');
    }
  });

  it('are compared with the address of the connection if the peer is not a trusted proxy', async () => {
    for (const proxies of ['', 'false', '10.0.0.0/8']) {
      const { status, text } = await from(await start({ TRUST_PROXY: proxies }), '203.0.113.9');
      expect([proxies, status]).toEqual([proxies, 403]);
      expect(text).toContain('127.0.0.1');
    }
  });

  it('are compared with the rightmost forwarded address that is no trusted proxy', async () => {
    const frame = await start({ TRUST_PROXY: '127.0.0.0/8,10.0.0.0/8,fd00::/8' });
    expect((await from(frame, '198.51.100.1, 203.0.113.9, 10.1.2.3, fd00::1')).status).toBe(200);
    expect((await from(frame, '203.0.113.9, 198.51.100.1, 10.1.2.3')).status).toBe(403);
    expect((await from(frame, '203.0.113.9, 198.51.100.1')).status).toBe(403);
  });

  it('are compared with the last forwarded address if every peer is trusted', async () => {
    const frame = await start({ TRUST_PROXY: 'true' });
    expect((await from(frame, '198.51.100.1, 203.0.113.9')).status).toBe(200);
    expect((await from(frame, '203.0.113.9, 198.51.100.1')).status).toBe(403);
  });
});
