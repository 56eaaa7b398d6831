import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Command } from 'commander';
import { scheduledJobNames } from '../../../src/domain/tasks/scheduled-job.ts';
import { includesRole, roles, type Role } from '../../../src/domain/operators/role.ts';
import { bodyFields } from '../../../src/http/admin/action-route.ts';
import { operationName } from '../../../src/http/openapi/describe-routes.ts';
import { cli, createProgram } from '../../../src/main/cli.ts';
import type { ActionRoute } from '../../../src/admin/define-action.ts';
import { allActions } from '../../../src/admin/table.ts';
import { commandLine } from '../../support/command-line.ts';
import { describedAdminRoutes } from '../openapi/described-routes.ts';
import { goodKey } from '../support.ts';
import { codeOf, startAdminHome, type AdminHome, type AdminResponse } from './admin-home.ts';

let home: AdminHome;
const tokens = new Map<Role, string>();
const tokenOf = (role: Role): string => tokens.get(role) ?? '';

beforeAll(async () => {
  home = await startAdminHome();
  for (const role of roles) tokens.set(role, (await home.token(role)).token);
});
afterAll(() => home?.drop());

const routes = allActions().flatMap(({ name, action: { route } }) => ('local' in route ? [] : [{ name, route }]));
/** A path that names nothing that exists. */
const pathOf = ({ path }: ActionRoute): string => path.replace(/:\w+/g, 'nobody');
const send = (token: string, route: ActionRoute) =>
  home.ask(token, route.method, pathOf(route), route.method === 'GET' ? {} : { body: {} });

describe('the admin API', () => {
  it('has a route for every command of the command line, or says why the command is local', () => {
    const commands = leavesOf(createProgram({ env: {}, write: () => undefined, exitCode: 0 }, true), []);
    expect(allActions().map(({ name }) => name)).toEqual(commands);
    for (const { action } of allActions()) {
      if ('local' in action.route) expect(action.route.local).not.toBe('');
      else expect(action.route.path).toMatch(/^\/[a-z-]+/);
    }
    const addresses = routes.map(({ route }) => `${route.method} ${route.path}`);
    expect(new Set(addresses).size).toBe(addresses.length);
  });

  it.each(routes.flatMap((one) => roles.map((role) => ({ ...one, role }))))(
    'lets $route.role and above call $route.method $route.path, asked by $role',
    async ({ route, role }) => {
      const response = await send(tokenOf(role), route);
      if (includesRole(role, route.role)) expect([401, 403, 405, 500, 503]).not.toContain(response.status);
      else expect([response.status, codeOf(response)]).toEqual([403, 'role_not_allowed']);
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
    const audited = await home.ask(tokenOf('owner'), 'GET', '/audit?limit=1');
    expect(audited.body).toMatchObject({
      data: [
        {
          action: 'admin_sessions.end',
          actor: expect.stringContaining('operator'),
          before: expect.anything(),
          after: null,
        },
      ],
    });
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
    const response = await home.ask('', 'POST', '/projects', { body: { name: 'stolen' }, headers });
    expect([response.status, codeOf(response)]).toEqual([403, 'cross_site_request']);
    const listed = await home.ask(tokenOf('viewer'), 'GET', '/projects');
    expect(JSON.stringify(listed.body)).not.toContain('stolen');
  });

  it('ends with its token, also if the token gets an earlier end meanwhile', async () => {
    const soon = await home.token('viewer', { expiresAt: new Date(Date.now() + 3_600_000) });
    const cookie = await cookieOf(soon.token);
    expect(Number(/Max-Age=(\d+)/.exec(cookie)?.[1])).toBeLessThanOrEqual(3_600);
    const headers = { ...sameOrigin, cookie: pair(cookie) };
    expect((await home.ask('', 'GET', '/session', { headers })).status).toBe(200);
    const end = `update admin_token set expires_at = clock_timestamp() where id = $1`;
    await home.db.query('', end, [soon.tokenId]);
    expect((await home.ask('', 'GET', '/session', { headers })).status).toBe(401);
  });

  it('begins for a valid token after many wrong ones, which are throttled by address', async () => {
    const strict = await home.serve({ AUTH_FAILURES_PER_MINUTE_MAX: '3' });
    const wrong = () => strict.ask('', 'POST', '/session', { body: { token: 'adm_wrong' } });
    const answers = [await wrong(), await wrong(), await wrong(), await wrong()];
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 429]);
    expect(Number(answers[3]?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await strict.ask('', 'POST', '/session', { body: { token: tokenOf('viewer') } })).status).toBe(200);
    // Refusals of tokens in headers count together with them.
    expect((await strict.ask('adm_wrong', 'GET', '/session')).status).toBe(429);
  });

  it('begins from no other site', async () => {
    const headers = { 'sec-fetch-site': 'cross-site' };
    const response = await home.ask('', 'POST', '/session', { body: { token: tokenOf('owner') }, headers });
    expect([response.status, codeOf(response)]).toEqual([403, 'cross_site_request']);
  });
});

describe('a change by the admin API', () => {
  const owner = (method: string, path: string, body?: unknown, headers = {}) =>
    home.ask(tokenOf('owner'), method, path, { ...(body !== undefined && { body }), headers });
  const textOf = ({ body }: AdminResponse, name: string): string => String(body[name]);

  it('takes native values where the command line takes texts, and the audit log names its token', async () => {
    const project = textOf(await owner('POST', '/projects', { name: 'acme' }), 'project_id');
    const limits = { rpm: 30, budget_daily: 500, models: ['aurora-image-1'], metadata: { team: 'ads' } };
    const made = await owner('POST', '/keys', { project, ...limits, expires: 4_102_444_800 });
    expect(made.status).toBe(200);
    const keyId = textOf(made, 'key_id');
    const changed = await home.ask(tokenOf('operator'), 'PATCH', `/keys/${keyId}`, {
      body: { rpm: null, in_flight: 4 },
    });
    expect(changed).toMatchObject({
      status: 200,
      body: { rpm: null, in_flight_max: 4, budget_daily: 500, metadata: { team: 'ads' }, expires_at: 4_102_444_800 },
    });
    const audit = await home.ask(tokenOf('viewer'), 'GET', `/audit?subject=${keyId}&action=keys.set`);
    expect(audit.body).toMatchObject({
      data: [{ actor: expect.stringMatching(/^operator \(atk_\w+\)$/), before: { rpm: 30 }, after: { rpm: null } }],
    });
  });

  it('is refused with the name of the field, and with a status that says why', async () => {
    const answers = [
      await owner('POST', '/credits', { project: 'prj_none', amount: 5, reference: 'r' }),
      await owner('POST', '/credits', { project: 'prj_none', amount: 1.5, reference: 'r' }),
      await owner('POST', '/credits', { project: 'prj_none', reference: 'r' }),
      await owner('POST', '/credits', { project: 'prj_none', amount: 5, reference: 'r', amont: 5 }),
      await owner('PATCH', '/keys/key_none', {}),
      await owner('POST', '/projects/prj_none/secret/rotate', {}),
      await owner('PUT', '/catalog', { catalog: 'models: [{id: x}]' }),
    ];
    expect(answers.map(({ status, body }) => [status, body['error']])).toMatchObject([
      [404, { code: 'not_found', message: 'There is no project prj_none.' }],
      [400, { code: 'invalid_value', param: 'amount', message: expect.stringContaining('a whole number') }],
      [400, { code: 'missing_parameter', param: 'amount' }],
      [400, { code: 'unsupported_parameter', param: 'amont', message: expect.stringContaining('amount') }],
      [409, { code: 'action_refused', message: expect.stringContaining('Nothing to change') }],
      [404, { code: 'not_found', message: 'There is no project prj_none.' }],
      [400, { code: 'invalid_value', problems: expect.arrayContaining([expect.objectContaining({ model: 'x' })]) }],
    ]);
  });

  it('of where a credential is sent needs an owner', async () => {
    for (const body of [{ base_url: 'https://evil.example' }, { credential: 'x' }, { adapter: 'openai' }]) {
      const response = await home.ask(tokenOf('operator'), 'PATCH', '/channels/nobody', { body });
      expect([response.status, codeOf(response)]).toEqual([403, 'role_not_allowed']);
    }
    expect((await home.ask(tokenOf('operator'), 'PATCH', '/channels/nobody', { body: { weight: 2 } })).status).toBe(
      404,
    );
  });

  it('is made once for an Idempotency-Key, also beside itself, and every repetition gets the same secret', async () => {
    const headers = { 'idempotency-key': 'press-1' };
    const create = (name: string) => owner('POST', '/projects', { name }, headers);
    const first = await create('once');
    const again = await create('once');
    expect(again.body).toEqual(first.body);
    expect([first, again].map((one) => one.headers.get('idempotent-replayed'))).toEqual([null, 'true']);
    expect(await create('other')).toMatchObject({ status: 422, body: { error: { code: 'idempotency_key_reused' } } });
    // The key of another token is another key.
    const { token } = await home.token('owner');
    const theirs = await home.ask(token, 'POST', '/projects', { body: { name: 'once' }, headers });
    expect(theirs.body['project_id']).not.toBe(first.body['project_id']);

    const together = await Promise.all(
      Array.from({ length: 5 }, () => owner('POST', '/projects', { name: 'raced' }, { 'idempotency-key': 'press-2' })),
    );
    expect(together.map(({ status }) => status).filter((status) => status !== 200 && status !== 409)).toEqual([]);
    const projects = await home.db.query('', `select id from project where name = 'raced'`);
    expect(projects).toHaveLength(1);
  });

  it('frees its Idempotency-Key if it is refused, because nothing was changed', async () => {
    const headers = { 'idempotency-key': 'press-3' };
    const project = textOf(await owner('POST', '/projects', { name: 'late' }), 'project_id');
    expect((await owner('POST', '/credits', { project: 'prj_none', amount: 1, reference: 'r' }, headers)).status).toBe(
      404,
    );
    expect((await owner('POST', '/credits', { project, amount: 1, reference: 'r' }, headers)).status).toBe(200);
  });
});

describe('a list of the admin API', () => {
  it('is read page by page, newest first, and the other way round', async () => {
    const project = String(
      (await home.ask(tokenOf('owner'), 'POST', '/projects', { body: { name: 'listed' } })).body['project_id'],
    );
    const made: unknown[] = [];
    for (let n = 0; n < 5; n += 1)
      made.push((await home.ask(tokenOf('owner'), 'POST', '/keys', { body: { project } })).body['key_id']);
    const read = async (sort: string) => {
      const ids: unknown[] = [];
      let after = '';
      do {
        const { body } = await home.ask(
          tokenOf('viewer'),
          'GET',
          `/keys?project=${project}&sort=${sort}&limit=2${after}`,
        );
        ids.push(...(body['data'] as { key_id: string }[]).map(({ key_id }) => key_id));
        after = body['has_more'] === true ? `&after=${String(body['next_cursor'])}` : '';
      } while (after !== '');
      return ids;
    };
    expect(await read('oldest')).toEqual(made);
    expect(await read('newest')).toEqual([...made].reverse());
    const wrong = await home.ask(tokenOf('viewer'), 'GET', '/projects?after=nonsense');
    expect([wrong.status, codeOf(wrong)]).toEqual([400, 'invalid_value']);
  });

  it.each([
    ['/audit', 'at'],
    ['/jobs', 'requested_at'],
  ])('%s is sorted by its time as it is newest or oldest first, with the same cursors', async (list, time) => {
    await home.db.query(
      'test-job-runs',
      `insert into job_run (id, name, trigger, state, lease_until, ended_at)
       select 'run_' || n, 'check-balances', 'schedule', 'lost', now(), now() from generate_series(1, 3) n on conflict do nothing`,
    );
    const read = async (query: string) => (await home.ask(tokenOf('viewer'), 'GET', `${list}?${query}`)).body;
    for (const [byTime, byColumn] of [
      ['newest', `-${time}`],
      ['oldest', time],
    ]) {
      const first = await read(`sort=${byTime}&limit=2`);
      expect(first['data']).toHaveLength(2);
      expect(await read(`sort=${byColumn}&limit=2`)).toEqual(first);
      const after = `limit=2&after=${String(first['next_cursor'])}`;
      expect(await read(`sort=${byColumn}&${after}`)).toEqual(await read(`sort=${byTime}&${after}`));
    }
  });

  it('of every kind answers a viewer', async () => {
    const project = String(
      (await home.ask(tokenOf('owner'), 'POST', '/projects', { body: { name: 'p' } })).body['project_id'],
    );
    await home.ask(tokenOf('operator'), 'POST', '/credits', { body: { project, amount: 7, reference: 'r1' } });
    const ledger = await home.ask(tokenOf('viewer'), 'GET', `/ledger?project=${project}`);
    expect(ledger.body).toMatchObject({
      object: 'list',
      data: [{ kind: 'topup', credits: 7, balance_after: 7 }],
      has_more: false,
    });
    const usage = await home.ask(tokenOf('viewer'), 'GET', `/usage?project=${project}&group_by=day`);
    expect(usage.body).toMatchObject({ data: [], total: { requests: 0, credits: 0 } });
    // A span is how long ago the time was.
    expect(await home.ask(tokenOf('viewer'), 'GET', '/usage?from=7d&to=1h')).toMatchObject({ status: 200 });
    expect(await home.ask(tokenOf('viewer'), 'GET', '/usage?from=1h&to=7d')).toMatchObject({ status: 400 });
    const ofAll = await home.ask(
      tokenOf('viewer'),
      'GET',
      '/usage?group_by=day,model,project,key,channel&tz=Europe/Berlin',
    );
    expect(ofAll.body).toMatchObject({
      data: [],
      total: {
        requests: 0,
        succeeded: 0,
        failed: 0,
        refused: 0,
        credits: 0,
        cost_micro_usd: 0,
        input_tokens: 0,
        output_tokens: 0,
      },
    });
    for (const path of ['/tasks', '/deliveries', '/jobs', '/channels', '/catalog', `/tasks?project=${project}`])
      expect(await home.ask(tokenOf('viewer'), 'GET', path)).toMatchObject({ status: 200, body: { object: 'list' } });
  });
});

describe('the OpenAPI document of the admin API', () => {
  it('has every route of an action with its role and its inputs, and those of the console, and needs no token', async () => {
    const { status, body } = await home.ask('', 'GET', '/openapi.json');
    expect(status).toBe(200);
    const paths = body['paths'] as Record<string, Record<string, { description: string; requestBody?: object }>>;
    for (const { name, route } of routes) {
      const path = `/api/admin/v1${route.path.replace(/:(\w+)/g, '{$1}')}`;
      const described = paths[path]?.[route.method.toLowerCase()]?.description;
      expect({ name, described }).toEqual({ name, described: expect.stringContaining(`\`${route.role}\``) });
    }
    for (const path of ['session', 'session/options', 'session/oidc', 'session/oidc/callback', 'playground/key'])
      expect(paths).toHaveProperty([`/api/admin/v1/${path}`]);
    expect(paths['/api/admin/v1/playground/key']?.['post']).toMatchObject({
      requestBody: { content: { 'application/json': { schema: { required: ['project_id'] } } } },
      description: expect.stringContaining('`operator`'),
    });
    expect(paths['/api/admin/v1/credits']?.['post']?.requestBody).toMatchObject({
      content: { 'application/json': { schema: { required: ['project', 'amount', 'reference'] } } },
    });
    const described = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(described.sort()).toEqual(describedAdminRoutes().map(operationName).sort());
  });

  it('has an example of each body that needs one, which its action accepts', () => {
    for (const { name, action } of allActions()) {
      const { route, example } = action;
      if ('local' in route || route.method === 'GET') continue;
      const inPath = Object.fromEntries([...route.path.matchAll(/:(\w+)/g)].map(([, param = '']) => [param, 'some']));
      const exampleFields = [...bodyFields(action, route)].flatMap(([field, input]) => {
        const value = example?.[field];
        return value === undefined ? [] : [[input, value] as const];
      });
      const isAccepted = action.prepare({
        ...Object.fromEntries(exampleFields),
        ...(name === 'jobs run' ? { name: scheduledJobNames[0] } : inPath),
      });
      expect({ name, fields: exampleFields.length, isAccepted }).toMatchObject({
        name,
        fields: Object.keys(example ?? {}).length,
        isAccepted: { ok: true },
      });
    }
  });
});

describe('a command with --server', () => {
  const over = (...args: string[]) =>
    commandLine(() => ({ TOLLGATE_ADMIN_TOKEN: tokenOf('owner') })).tollgate(...args, '--server', home.frame.url);
  const here = commandLine(() => home.settings).tollgate;

  it('prints what it prints on the machine of the database', async () => {
    const { printed: project } = await over('projects', 'create', '--name', 'far');
    const id = String(project['project_id']);
    expect(await over('credits', 'add', '--project', id, '--amount', '12', '--reference', 'r')).toMatchObject({
      code: 0,
      printed: { balance: 12 },
    });
    for (const args of [
      ['projects', 'list', '--limit', '3'],
      ['credits', 'show', '--project', id],
      ['keys', 'list', '--project', id],
      ['catalog', 'show'],
      ['ledger', 'verify'],
      ['keys', 'revoke', 'key_none'],
      ['catalog', 'check', 'README.md'],
    ])
      expect(await over(...args)).toEqual(await here(...args));
    const text: string[] = [];
    const settings = { TOLLGATE_ADMIN_TOKEN: tokenOf('viewer') };
    await cli(['credits', 'show', '--project', id, '--server', home.frame.url], settings, (line) => text.push(line));
    expect(text.join('')).toMatch(/balance +12/);
  });

  it('is refused without a token, with a name for the audit log, and where it only works on this machine', async () => {
    const without = await commandLine(() => ({})).tollgate('projects', 'list', '--server', home.frame.url);
    const named = await over('projects', 'list', '--actor', 'me');
    const local = await over('catalog', 'compare', '--prices', 'x.json');
    expect([without, named, local].map(({ code }) => code)).toEqual([2, 2, 2]);
    const settings = { TOLLGATE_ADMIN_TOKEN: 'adm_wrong' };
    const wrong = await commandLine(() => settings).tollgate('projects', 'list', '--server', home.frame.url);
    expect(wrong).toMatchObject({ code: 1, printed: { error: { message: expect.stringContaining('admin token') } } });
  });
});

describe('a stranger', () => {
  it('is led to the routes of the admin API by a path that it lacks', async () => {
    const { status, body } = await home.ask('', 'GET', '/nothing');
    expect({ status, body }).toMatchObject({
      status: 404,
      body: { error: { message: expect.stringContaining('GET /api/admin/v1/openapi.json shows those that exist.') } },
    });
  });

  it('refuses every route without a token, with an API key and with a wrong token', async () => {
    for (const { route } of routes) {
      for (const token of ['', goodKey, 'adm_wrong']) {
        const response = await send(token, route);
        // The address is throttled after many failures.
        expect([401, 429]).toContain(response.status);
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
