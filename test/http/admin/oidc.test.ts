import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { includesRole, roles, type Role } from '../../../src/domain/operators/role.ts';
import { allActions } from '../../../src/admin/table.ts';
import { commandLine } from '../../support/command-line.ts';
import { oidcClient, startOidcIssuer, type IssuerFaults, type OidcIssuer } from '../../support/oidc-issuer.ts';
import { codeOf, messageOf, startAdminHome, type AdminHome, type AdminServer } from './admin-home.ts';
import { adminOrigin, callbackUrl, openBrowser, type TestBrowser } from './browser.ts';
import { startRealProvider } from './real-provider.ts';

let home: AdminHome;
let issuer: OidcIssuer;
/** Signs in by `issuer`. */
let server: AdminServer;
let owner: string;
const settingsOf = (url: string) => ({
  ADMIN_ORIGIN: adminOrigin,
  OIDC_ISSUER: url,
  OIDC_CLIENT_ID: oidcClient.id,
  OIDC_CLIENT_SECRET: oidcClient.secret,
  AUTH_FAILURES_PER_MINUTE_MAX: '1000',
});

beforeAll(async () => {
  [home, issuer] = await Promise.all([startAdminHome(), startOidcIssuer()]);
  server = await home.serve(settingsOf(issuer.url));
  owner = (await home.token('owner')).token;
});
afterAll(async () => {
  await home?.drop();
  await issuer?.close();
});
beforeEach(() => {
  Object.assign(issuer, { faults: {}, subject: 'ada-1' });
});

/** Enters a person and returns its id. */
async function enter(subject: string, role: Role, at = issuer.url): Promise<string> {
  const body = { issuer: at, subject, role, name: subject };
  const added = await home.ask(owner, 'POST', '/operators', { body });
  expect(added.status).toBe(200);
  return String(added.body['operator_id']);
}

/** Signs a person in at the issuer and returns the secret of the session. */
async function signIn(subject: string): Promise<string> {
  issuer.subject = subject;
  const browser = openBrowser(server);
  await browser.signInUntil(`${adminOrigin}/console`);
  return browser.cookies.get('tollgate_session') ?? '';
}

/** Comes back from the issuer with the faults that it has, and returns the refusal. */
async function comeBack(browser: TestBrowser, change: (answer: URL) => void = () => undefined) {
  const answer = new URL(await browser.signInUntil(callbackUrl));
  change(answer);
  return refusalAt(browser, answer.href);
}

async function refusalAt(browser: TestBrowser, url: string) {
  const answer = await browser.open(url, { accept: 'application/json', 'sec-fetch-site': 'cross-site' });
  const body = (await answer.json()) as Record<string, unknown>;
  return { status: answer.status, headers: answer.headers, body };
}

describe('sign-in by OIDC', () => {
  it('leads to a complete identity provider and back, and begins a session with the role that an owner entered', async () => {
    const provider = await startRealProvider({ subject: 'grace-1', redirectUri: callbackUrl });
    try {
      const real = await home.serve(settingsOf(provider.issuer));
      await enter('grace-1', 'operator', provider.issuer);
      const browser = openBrowser(real);
      const answer = await browser.signInUntil(callbackUrl);
      const back = await browser.open(answer, { 'sec-fetch-site': 'cross-site' });
      expect([back.status, back.headers.get('location')]).toEqual([303, '/console']);
      expect(back.headers.getSetCookie()).toEqual([
        expect.stringMatching(
          /^tollgate_sign_in=; Path=\/api\/admin\/v1\/session\/oidc; Max-Age=0; HttpOnly; SameSite=Lax; Secure$/,
        ),
        expect.stringMatching(
          /^tollgate_session=ses_\w+; Path=\/api\/admin\/v1; Max-Age=43[12]\d\d; HttpOnly; SameSite=Lax; Secure$/,
        ),
      ]);
      const session = browser.cookies.get('tollgate_session') ?? '';
      expect(await real.askAs(session, 'GET', '/session')).toMatchObject({
        body: { name: 'grace-1', role: 'operator', expires_at: expect.any(Number) },
      });
      // The provider itself takes a code once.
      const again = await refusalAt(browser, answer);
      expect([again.status, codeOf(again)]).toEqual([401, 'sign_in_failed']);
    } finally {
      await provider.close();
    }
  });

  it('names the person in the audit log, from the session to every change', async () => {
    const operatorId = await enter('audited', 'operator');
    const project = await home.ask(owner, 'POST', '/projects', { body: { name: 'audited' } });
    const session = await signIn('audited');
    const body = { project: project.body['project_id'], amount: 7, reference: 'r1' };
    expect((await server.askAs(session, 'POST', '/credits', body)).status).toBe(200);
    const by = encodeURIComponent(`audited (audited at ${issuer.url})`);
    const audit = await home.ask(owner, 'GET', `/audit?by=${by}`);
    expect(audit.body).toMatchObject({
      data: [{ action: 'credits.add' }, { action: 'admin_sessions.begin', subject: operatorId }],
    });
    const entered = await home.ask(owner, 'GET', `/audit?subject=${operatorId}&action=operators.add`);
    expect(entered.body).toMatchObject({
      data: [{ before: null, after: { issuer: issuer.url, subject: 'audited', role: 'operator', name: 'audited' } }],
    });
  });

  it('refuses a person whom no owner entered, and names the issuer, the subject and the command of an owner', async () => {
    const subject = `o'hara|<7>`;
    issuer.subject = subject;
    const refused = await comeBack(openBrowser(server));
    expect([refused.status, codeOf(refused)]).toEqual([403, 'unknown_operator']);
    expect(refused.headers.getSetCookie().join()).not.toContain('tollgate_session');
    const command = String.raw`operators add --issuer '${issuer.url}' --subject 'o'\''hara|<7>' --role viewer --name NAME`;
    expect(messageOf(refused)).toContain(`${subject} of ${issuer.url}`);
    expect(messageOf(refused)).toContain(command);

    const browser = openBrowser(server);
    const page = await browser.open(await browser.signInUntil(callbackUrl), { 'sec-fetch-site': 'cross-site' });
    expect([page.status, page.headers.get('content-type')]).toEqual([403, 'text/html; charset=utf-8']);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    const html = await page.text();
    expect(html).toContain(`<dd><code>o'hara|&lt;7></code></dd>`);
    expect(html).toContain(issuer.url);

    const { tollgate } = commandLine(() => home.settings);
    const person = ['--issuer', issuer.url, '--subject', subject, '--role', 'viewer', '--name', 'Scarlett'];
    expect((await tollgate('operators', 'add', ...person)).code).toBe(0);
    const session = await signIn(subject);
    expect(await server.askAs(session, 'GET', '/session')).toMatchObject({
      body: { name: 'Scarlett', role: 'viewer' },
    });
  });

  it.each<[string, IssuerFaults]>([
    ['the nonce of another sign-in', { claims: { nonce: 'another' } }],
    ['no nonce', { claims: { nonce: undefined } }],
    ['another audience', { claims: { aud: 'another-client' } }],
    ['another issuer', { claims: { iss: 'https://evil.example' } }],
    ['an end in the past', { claims: { iat: 1_000, exp: 2_000 } }],
    ['no subject', { claims: { sub: undefined } }],
    ['a foreign signature', { foreignKey: true }],
  ])('refuses an ID token with %s', async (_fault, faults) => {
    issuer.faults = faults;
    const browser = openBrowser(server);
    const refused = await comeBack(browser);
    expect([refused.status, codeOf(refused)]).toEqual([401, 'sign_in_failed']);
    expect(browser.cookies.size).toBe(0);
  });

  it('refuses an answer with another state, without the cookie of its beginning, and with a changed cookie', async () => {
    const wrongState = await comeBack(openBrowser(server), ({ searchParams }) => searchParams.set('state', 'x'));
    const noState = await comeBack(openBrowser(server), ({ searchParams }) => searchParams.delete('state'));
    const stolen = await openBrowser(server).signInUntil(callbackUrl);
    const elsewhere = await refusalAt(openBrowser(server), stolen);
    const changed = openBrowser(server);
    const answer = await changed.signInUntil(callbackUrl);
    const kept = changed.cookies.get('tollgate_sign_in') ?? '';
    // Not its last character, of which only some bits count.
    changed.cookies.set(
      'tollgate_sign_in',
      kept.replace(/.(?=.{9}$)/, (each) => (each === 'A' ? 'B' : 'A')),
    );
    const forged = await refusalAt(changed, answer);
    for (const refused of [wrongState, noState, elsewhere, forged])
      expect([refused.status, codeOf(refused)]).toEqual([401, 'sign_in_failed']);
    expect(messageOf(elsewhere)).toContain('did not begin in this browser');
    expect(messageOf(elsewhere)).toContain(`${adminOrigin}/console`);
  });

  it('begins one session for a state, even if the cookie is stolen and the issuer takes the code again', async () => {
    await enter('replayed', 'viewer');
    Object.assign(issuer, { subject: 'replayed', faults: { repeats: true } });
    const browser = openBrowser(server);
    const answer = await browser.signInUntil(callbackUrl);
    const kept = browser.cookies.get('tollgate_sign_in') ?? '';
    expect((await browser.open(answer)).status).toBe(303);
    const thief = openBrowser(server);
    thief.cookies.set('tollgate_sign_in', kept);
    const refused = await refusalAt(thief, answer);
    expect([refused.status, messageOf(refused)]).toEqual([401, expect.stringContaining('a session already')]);
    expect(thief.cookies.has('tollgate_session')).toBe(false);
  });

  it('says what the identity provider answered if it refuses', async () => {
    const refused = await comeBack(openBrowser(server), (answer) => {
      const state = answer.searchParams.get('state') ?? '';
      answer.search = new URLSearchParams({ error: 'access_denied', state }).toString();
    });
    expect([refused.status, messageOf(refused)]).toEqual([401, expect.stringContaining('(access_denied)')]);
    const unregistered = await home.serve({ ...settingsOf(issuer.url), OIDC_CLIENT_SECRET: 'wrong' });
    const notOurs = await comeBack(openBrowser(unregistered));
    expect([notOurs.status, messageOf(notOurs)]).toEqual([401, expect.stringContaining('(invalid_client)')]);
  });

  it('begins from no page of another site', async () => {
    const url = `${adminOrigin}/api/admin/v1/session/oidc`;
    for (const site of ['cross-site', 'same-site']) {
      const answer = await openBrowser(server).open(url, { accept: 'application/json', 'sec-fetch-site': site });
      expect(answer.status).toBe(403);
    }
  });

  it('says that a token still works while the identity provider does not answer', async () => {
    issuer.faults = { away: true };
    const interrupted = await comeBack(openBrowser(server));
    const away = await home.serve(settingsOf('http://127.0.0.1:1'));
    const never = await away.ask('', 'GET', '/session/oidc');
    for (const refused of [interrupted, never]) {
      expect([refused.status, codeOf(refused)]).toEqual([503, 'service_unavailable']);
      expect(messageOf(refused)).toContain('sign in with an admin token');
    }
    expect((await away.ask('', 'GET', '/session/options')).status).toBe(200);
    expect((await away.ask('', 'POST', '/session', { body: { token: owner } })).status).toBe(200);
  });

  it('is offered where it is configured', async () => {
    const url = '/api/admin/v1/session/oidc';
    expect((await server.ask('', 'GET', '/session/options')).body).toEqual({ oidc: { issuer: issuer.url, url } });
    expect((await home.ask('', 'GET', '/session/options')).body).toEqual({ oidc: null });
    const refused = await home.ask('', 'GET', '/session/oidc');
    expect([refused.status, messageOf(refused)]).toEqual([404, expect.stringContaining('OIDC_ISSUER')]);
  });

  it('writes no code, token, state or secret to the log', () => {
    const log = server.frame.logText();
    expect(log).toContain('/api/admin/v1/session/oidc/callback');
    expect(issuer.issued.length).toBeGreaterThan(10);
    expect([...issuer.issued, oidcClient.secret, 'state='].filter((secret) => log.includes(secret))).toEqual([]);
  });
});

describe('a session by OIDC', () => {
  const routes = allActions().flatMap(({ action: { route } }) => ('local' in route ? [] : [route]));

  it.each(roles)('calls what the role %s allows, and nothing else', async (role) => {
    await enter(`role-${role}`, role);
    const session = await signIn(`role-${role}`);
    for (const route of routes) {
      const path = route.path.replace(/:\w+/g, 'nobody');
      const response = await server.askAs(session, route.method, path, route.method === 'GET' ? undefined : {});
      const isRefused = response.status === 403 && codeOf(response) === 'role_not_allowed';
      expect({ path, isRefused }).toEqual({ path, isRefused: !includesRole(role, route.role) });
      expect([401, 500]).not.toContain(response.status);
    }
  });

  it('ends at once when its operator is removed, with the playground key, and cannot begin again', async () => {
    const operatorId = await enter('leaver', 'operator');
    const project = await home.ask(owner, 'POST', '/projects', { body: { name: 'left' } });
    const session = await signIn('leaver');
    const made = await server.askAs(session, 'POST', '/playground/key', { project_id: project.body['project_id'] });
    expect(made.status).toBe(200);
    const removed = await home.ask(owner, 'POST', `/operators/${operatorId}/remove`);
    expect(removed).toMatchObject({ status: 200, body: { operator_id: operatorId, subject: 'leaver' } });
    expect((await server.askAs(session, 'GET', '/session')).status).toBe(401);
    const [key] = await home.db.query('', 'select revoked_at from api_key where id = $1', [made.body['key_id']]);
    expect(key).toEqual({ revokedAt: expect.any(Date) });
    issuer.subject = 'leaver';
    expect((await comeBack(openBrowser(server))).status).toBe(403);
    expect((await home.ask(owner, 'POST', `/operators/${operatorId}/remove`)).status).toBe(404);
  });

  it('changes nothing for a page of another site, and ends when its holder signs out', async () => {
    await enter('careful', 'owner');
    const session = await signIn('careful');
    const headers = { cookie: `tollgate_session=${session}`, 'sec-fetch-site': 'cross-site' };
    const stolen = await server.ask('', 'POST', '/projects', { body: { name: 'stolen' }, headers });
    expect([stolen.status, codeOf(stolen)]).toEqual([403, 'cross_site_request']);
    expect((await server.askAs(session, 'DELETE', '/session')).body).toEqual({ ended: true });
    expect((await server.askAs(session, 'GET', '/session')).status).toBe(401);
  });

  it('has Idempotency-Keys of its own', async () => {
    await enter('repeater', 'owner');
    const session = await signIn('repeater');
    const headers = { cookie: `tollgate_session=${session}`, 'sec-fetch-site': 'same-origin', 'idempotency-key': 'k' };
    const create = () => server.ask('', 'POST', '/projects', { body: { name: 'once' }, headers });
    expect((await create()).body).toEqual((await create()).body);
  });
});

describe('operators', () => {
  it('are entered once for a pair of issuer and subject, and listed with their last use', async () => {
    const operatorId = await enter('listed', 'viewer');
    const again = { issuer: issuer.url, subject: 'listed', role: 'owner', name: 'x' };
    const refused = await home.ask(owner, 'POST', '/operators', { body: again });
    expect([refused.status, messageOf(refused)]).toEqual([
      409,
      expect.stringContaining(`${operatorId} with the role viewer`),
    ]);
    const before = await home.ask(owner, 'GET', '/operators?limit=1');
    expect(before.body).toMatchObject({
      data: [{ operator_id: operatorId, last_used_at: null, created_by: expect.stringContaining('owner') }],
    });
    await server.askAs(await signIn('listed'), 'GET', '/session');
    const after = await home.ask(owner, 'GET', '/operators?limit=1');
    expect(after.body).toMatchObject({
      data: [{ subject: 'listed', last_used_at: expect.any(Number) }],
      has_more: true,
    });
  });

  it('are refused with an issuer that is no URL, and without a subject, a role or a name', async () => {
    const good = { issuer: 'https://id.example.com', subject: 's', role: 'viewer', name: 'n' };
    for (const wrong of [
      { issuer: 'id.example.com' },
      { issuer: 'http://id.example.com' },
      { subject: ' s' },
      { role: 'root' },
      { name: '' },
    ]) {
      const refused = await home.ask(owner, 'POST', '/operators', { body: { ...good, ...wrong } });
      expect([refused.status, codeOf(refused)]).toEqual([400, 'invalid_value']);
    }
  });
});
