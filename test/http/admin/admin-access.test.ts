import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Command } from 'commander';
import { includesRole, roles, type Role } from '../../../src/domain/role.ts';
import { createProgram } from '../../../src/main/cli.ts';
import type { VerbRoute } from '../../../src/verbs/define-verb.ts';
import { allVerbs } from '../../../src/verbs/table.ts';
import { goodKey } from '../support.ts';
import { codeOf, startAdminHome, type AdminHome } from './admin-home.ts';

let home: AdminHome;
const tokens = new Map<Role, string>();
const tokenOf = (role: Role): string => tokens.get(role) ?? '';

beforeAll(async () => {
  home = await startAdminHome();
  for (const role of roles) tokens.set(role, (await home.token(role)).token);
});
afterAll(() => home?.drop());

const routes = allVerbs().flatMap(({ name, verb: { route } }) => ('local' in route ? [] : [{ name, route }]));
/** A path that names nothing that exists. */
const pathOf = ({ path }: VerbRoute): string => path.replace(/:\w+/g, 'nobody');
const send = (token: string, route: VerbRoute) =>
  home.ask(token, route.method, pathOf(route), route.method === 'GET' ? {} : { body: {} });

describe('the admin API', () => {
  it('has a route for every command of the command line, or says why the command is local', () => {
    const commands = leavesOf(createProgram({ env: {}, write: () => undefined, exitCode: 0 }, true), []);
    expect(allVerbs().map(({ name }) => name)).toEqual(commands);
    for (const { verb } of allVerbs()) {
      if ('local' in verb.route) expect(verb.route.local).not.toBe('');
      else expect(verb.route.path).toMatch(/^\/[a-z-]+/);
    }
    const addresses = routes.map(({ route }) => `${route.method} ${route.path}`);
    expect(new Set(addresses).size).toBe(addresses.length);
  });

  it.each(routes.flatMap((one) => roles.map((role) => ({ ...one, role }))))(
    'lets $route.role and above call $route.method $route.path, asked by $role',
    async ({ route, role }) => {
      const asked = await send(tokenOf(role), route);
      if (includesRole(role, route.role)) expect([401, 403, 405, 500, 503]).not.toContain(asked.status);
      else expect([asked.status, codeOf(asked)]).toEqual([403, 'role_not_allowed']);
    },
  );
});

describe('an admin token', () => {
  it('works until it expires or is revoked, and shows when it was last used', async () => {
    const { tokenId, token } = await home.token('viewer', { name: 'ada' });
    expect(await home.ask(token, 'GET', '/session')).toMatchObject({
      status: 200,
      body: { name: 'ada', role: 'viewer', expires_at: null },
    });
    const listed = await home.ask(tokenOf('owner'), 'GET', '/admin-tokens?limit=1');
    expect(listed.body).toMatchObject({
      data: [{ token_id: tokenId, name: 'ada', state: 'active', created_by: 'test', last_used_at: expect.any(Number) }],
      has_more: true,
    });
    expect(JSON.stringify(listed.body)).not.toContain(token);
    const revoked = await home.ask(tokenOf('owner'), 'POST', `/admin-tokens/${tokenId}/revoke`);
    expect(revoked).toMatchObject({ status: 200, body: { token_id: tokenId, changed: true } });
    expect((await home.ask(token, 'GET', '/session')).status).toBe(401);
    const expired = await home.token('owner', { expiresAt: new Date(Date.now() - 1_000) });
    expect((await home.ask(expired.token, 'GET', '/session')).status).toBe(401);
  });
});

describe('a session', () => {
  const cookieOf = async (token: string, headers = sameOrigin): Promise<string> => {
    const signedIn = await home.ask('', 'POST', '/session', { body: { token }, headers });
    expect(signedIn.status).toBe(200);
    return signedIn.headers.get('set-cookie') ?? '';
  };
  const sameOrigin: Record<string, string> = { 'sec-fetch-site': 'same-origin' };
  const pair = (cookie: string): string => cookie.split(';')[0] ?? '';

  it('begins with a token, sends a cookie that no script reads, and ends when its holder signs out', async () => {
    const cookie = await cookieOf(tokenOf('operator'));
    expect(cookie).toMatch(
      /^tollgate_session=ses_\w+; Path=\/api\/admin\/v1; Max-Age=43[12]\d\d; HttpOnly; SameSite=Lax$/,
    );
    const headers = { ...sameOrigin, cookie: pair(cookie) };
    const shown = await home.ask('', 'GET', '/session', { headers });
    expect(shown).toMatchObject({
      status: 200,
      body: { name: 'operator', role: 'operator', expires_at: expect.any(Number) },
    });
    expect(await home.ask('', 'DELETE', '/session', { headers })).toMatchObject({ status: 200, body: { ended: true } });
    expect((await home.ask('', 'GET', '/session', { headers })).status).toBe(401);
  });

  it('has a cookie for https only if the browser came by https', async () => {
    const origin = `https://${new URL(home.frame.url).host}`;
    expect(await cookieOf(tokenOf('viewer'), { origin })).toMatch(/; Secure$/);
  });

  it('ends when its token is revoked, and takes no session for a token', async () => {
    const { tokenId, token } = await home.token('viewer');
    const headers = { ...sameOrigin, cookie: pair(await cookieOf(token)) };
    expect((await home.ask(headers.cookie.split('=')[1] ?? '', 'GET', '/session')).status).toBe(401);
    await home.ask(tokenOf('owner'), 'POST', `/admin-tokens/${tokenId}/revoke`);
    expect((await home.ask('', 'GET', '/session', { headers })).status).toBe(401);
    expect((await home.ask('', 'POST', '/session', { body: { token } })).status).toBe(401);
  });

  it.each<Record<string, string>>([
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'none' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
    {},
  ])('is refused for a write with the headers %j, which pages of other sites send', async (sent) => {
    const headers = { ...sent, cookie: pair(await cookieOf(tokenOf('owner'))) };
    const asked = await home.ask('', 'POST', '/projects', { body: { name: 'stolen' }, headers });
    expect([asked.status, codeOf(asked)]).toEqual([403, 'cross_site_request']);
    const listed = await home.ask(tokenOf('viewer'), 'GET', '/projects');
    expect(JSON.stringify(listed.body)).not.toContain('stolen');
  });

  it('begins from no other site', async () => {
    const headers = { 'sec-fetch-site': 'cross-site' };
    const asked = await home.ask('', 'POST', '/session', { body: { token: tokenOf('owner') }, headers });
    expect([asked.status, codeOf(asked)]).toEqual([403, 'cross_site_request']);
  });
});

describe('a stranger', () => {
  it('refuses every route without a token, with an API key and with a wrong token', async () => {
    for (const { route } of routes) {
      for (const token of ['', goodKey, 'adm_wrong']) {
        const asked = await send(token, route);
        // The address is throttled after many failures.
        expect([401, 429]).toContain(asked.status);
      }
    }
  });
});

function leavesOf(command: Command, words: readonly string[]): string[] {
  return command.commands.flatMap((each) => {
    const name = [...words, each.name()];
    return each.commands.length > 0 ? leavesOf(each, name) : [name.join(' ')];
  });
}
