import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { roles, type Role } from '../../../src/domain/operators/role.ts';
import { commandLine } from '../../support/command-line.ts';
import { codeOf, startAdminHome, type AdminHome } from './admin-home.ts';

let home: AdminHome;
const tokens = new Map<Role, string>();
const tokenOf = (role: Role): string => tokens.get(role) ?? '';

beforeAll(async () => {
  home = await startAdminHome();
  for (const role of roles) tokens.set(role, (await home.token(role)).token);
});
afterAll(() => home?.drop());

describe('the key of the playground', () => {
  const newProject = async (): Promise<string> => {
    const made = await home.ask(tokenOf('owner'), 'POST', '/projects', { body: { name: 'played' } });
    return String(made.body['project_id']);
  };
  const issue = (token: string, body: object) => home.ask(token, 'POST', '/playground/key', { body });
  const secretsOf = (keyId: unknown) =>
    home.db.query<{ isLive: boolean }>(
      '',
      `select coalesce(expires_at > clock_timestamp(), true) as is_live from api_key_secret where key_id = $1
       order by created_at`,
      [keyId],
    );

  it('spends at most its daily budget and lasts as long as a session', async () => {
    const project = await newProject();
    const made = await issue(tokenOf('operator'), { project_id: project });
    expect(made).toMatchObject({
      status: 200,
      body: {
        api_key: expect.stringMatching(/^sk-/),
        key_id: expect.stringMatching(/^key_/),
        budget_daily: 10_000_000,
      },
    });
    const left = Number(made.body['expires_at']) - Date.now() / 1_000;
    expect(Math.abs(left - 43_200)).toBeLessThan(60);
    const listed = await home.ask(tokenOf('viewer'), 'GET', `/keys?project=${project}`);
    expect(listed.body).toMatchObject({
      data: [{ key_id: made.body['key_id'], name: 'Playground of operator', budget_daily: 10_000_000, rpm: null }],
    });
  });

  it('gets a new secret from a second call, which ends the earlier one, and another budget', async () => {
    const project = await newProject();
    const first = await issue(tokenOf('operator'), { project_id: project });
    const second = await issue(tokenOf('operator'), { project_id: project, budget_daily: 50 });
    expect(second.body).toMatchObject({ key_id: first.body['key_id'], budget_daily: 50 });
    expect(second.body['api_key']).not.toBe(first.body['api_key']);
    expect(await secretsOf(first.body['key_id'])).toEqual([{ isLive: false }, { isLive: true }]);
    const others = await issue(tokenOf('owner'), { project_id: project });
    expect(others.body['key_id']).not.toBe(first.body['key_id']);
  });

  it('is one key for calls at the same moment, of which the last has the valid secret', async () => {
    const project = await newProject();
    const calls = await Promise.all(
      Array.from({ length: 6 }, () => issue(tokenOf('operator'), { project_id: project })),
    );
    expect(calls.map(({ status }) => status)).toEqual(Array(6).fill(200));
    const keys = new Set(calls.map(({ body }) => body['key_id']));
    expect(keys.size).toBe(1);
    const secrets = await secretsOf([...keys][0]);
    expect(secrets).toHaveLength(6);
    expect(secrets.filter(({ isLive }) => isLive)).toHaveLength(1);
  });

  it('is another key after it was revoked, and ends with its token', async () => {
    const project = await newProject();
    const { tokenId, token } = await home.token('operator');
    const first = await issue(token, { project_id: project });
    await home.ask(tokenOf('owner'), 'POST', `/keys/${String(first.body['key_id'])}/revoke`);
    const second = await issue(token, { project_id: project });
    expect(second.body['key_id']).not.toBe(first.body['key_id']);
    await home.ask(tokenOf('owner'), 'POST', `/admin-tokens/${tokenId}/revoke`);
    const live = await home.ask(tokenOf('viewer'), 'GET', `/keys?project=${project}&state=active`);
    expect(live.body).toMatchObject({ data: [] });
    const audit = await home.ask(tokenOf('viewer'), 'GET', `/audit?subject=${String(second.body['key_id'])}`);
    expect(audit.body).toMatchObject({ data: [{ action: 'keys.revoke' }, { action: 'keys.create' }] });
  });

  it('takes over no key by its metadata', async () => {
    const project = await newProject();
    const { tokenId, token } = await home.token('operator');
    const body = { project, metadata: { playground: tokenId } };
    const theirs = await home.ask(tokenOf('owner'), 'POST', '/keys', { body });
    const made = await issue(token, { project_id: project });
    expect(made.body['key_id']).not.toBe(theirs.body['key_id']);
    expect(await secretsOf(theirs.body['key_id'])).toEqual([{ isLive: true }]);
  });

  it.each([
    ['PATCH', '', { budget_daily: null }],
    ['PATCH', '', { budget_daily: 1_000_000 }],
    ['PATCH', '', { budget: null }],
    ['PATCH', '', { budget_monthly: 5 }],
    ['PATCH', '', { expires: null }],
    ['PATCH', '', { expires: '30d' }],
    ['PATCH', '', { scopes: ['chat', 'media', 'read'] }],
    ['PATCH', '', { rpm: null }],
    ['PATCH', '', { in_flight: null }],
    ['PATCH', '', { models: null }],
    ['PATCH', '', { ip: null }],
    ['PATCH', '', { name: 'mine' }],
    ['PATCH', '', { metadata: { mine: 'yes' } }],
    ['POST', '/rotate', {}],
    ['POST', '/rotate', { now: true }],
  ])(
    'is refused %s %s with %j: its scopes, cap, end and secret stay what the playground made them',
    async (method, end, body) => {
      const project = await newProject();
      const made = await issue(tokenOf('operator'), { project_id: project });
      const path = `/keys/${String(made.body['key_id'])}${end}`;
      const listed = async () => (await home.ask(tokenOf('viewer'), 'GET', `/keys?project=${project}`)).body['data'];
      const before = await listed();
      expect(before).toMatchObject([{ playground: true, scopes: ['chat', 'media'], budget_daily: 10_000_000 }]);
      const refused = await home.ask(tokenOf('owner'), method, path, { body });
      expect([refused.status, codeOf(refused)]).toEqual([409, 'action_refused']);
      expect(await listed()).toEqual(before);
      expect(await secretsOf(made.body['key_id'])).toEqual([{ isLive: true }]);
    },
  );

  it('is refused by the command line too, and loses what an earlier version allowed it', async () => {
    const project = await newProject();
    const made = await issue(tokenOf('operator'), { project_id: project });
    const keyId = String(made.body['key_id']);
    const { refused } = commandLine(() => home.settings);
    expect(await refused('keys', 'set', keyId, '--budget-daily', 'none', '--expires', 'none')).toContain('playground');
    expect(await refused('keys', 'rotate', keyId)).toContain('playground');
    await home.db.query(
      '',
      `update api_key set scopes = '{chat,media,read}', budget_daily = null, expires_at = null where id = $1`,
      [keyId],
    );
    await issue(tokenOf('operator'), { project_id: project });
    const listed = await home.ask(tokenOf('viewer'), 'GET', `/keys?project=${project}`);
    const renewed = { scopes: ['chat', 'media'], budget_daily: 10_000_000, expires_at: expect.any(Number) };
    expect(listed.body).toMatchObject({ data: [renewed] });
  });

  it('needs an operator, a project that exists and a budget within its bounds', async () => {
    const project = await newProject();
    const answers = [
      await issue(tokenOf('viewer'), { project_id: project }),
      await issue(tokenOf('operator'), { project_id: 'prj_none' }),
      await issue(tokenOf('operator'), { project_id: project, budget_daily: 1_000_000_000_001 }),
      await issue(tokenOf('operator'), {}),
    ];
    expect(answers.map((response) => [response.status, codeOf(response)])).toEqual([
      [403, 'role_not_allowed'],
      [404, 'not_found'],
      [400, 'invalid_value'],
      [400, 'missing_parameter'],
    ]);
  });
});
