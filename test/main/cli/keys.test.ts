import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { createKeyCache } from '../../../src/caches/key-cache.ts';
import { testConfig } from '../../support/test-config.ts';
import type { Database } from '../../../src/db/database.ts';
import { admitted, attemptEndedOk, breachesIn, newTask, openLedger, rowsOf, run, taskEnd } from '../../db/books.ts';
import { anAdmission, openChatLedger, settledEnd } from '../../db/chat-books.ts';
import { commandLine } from '../../support/command-line.ts';
import { createTestHome, type TestHome } from '../../support/home.ts';
import { compileCache, nodeBinary, projectFolder } from '../../support/program.ts';
import { createOperator, type Operator } from '../../support/operator.ts';
import { lastAuditOf } from '../../support/rows.ts';

let home: TestHome;
let db: Database;
let operator: Operator;

beforeAll(async () => {
  home = await createTestHome();
  db = home.db;
  operator = createOperator(db, home.settings);
});
afterAll(() => home?.drop());

const { tollgate, done, refused } = commandLine(() => home.settings);

const auditOf = (subject: string) => lastAuditOf(db, subject);

const find = (secret: string) => createKeyCache(db, testConfig(home.settings).secrets.keyPeppers, 1).find(secret);

describe('tollgate keys set', () => {
  it('changes only the given limits, removes those set to none, and the audit log has the old and new values', async () => {
    const { keyId, apiKey } = await operator.project({ rpm: 30, budget: 500, models: ['gpt-5-mini'] });
    const changed = await done('keys', 'set', keyId, '--rpm', '60', '--models', 'none', '--in-flight', '4');
    expect(changed).toEqual({
      key_id: keyId,
      name: 'test',
      metadata: {},
      scopes: ['chat', 'media', 'read'],
      ip_ranges: null,
      models: null,
      rpm: 60,
      budget: 500,
      budget_daily: null,
      budget_monthly: null,
      in_flight_max: 4,
      expires_at: null,
    });
    expect(await find(apiKey)).toMatchObject({ rpm: 60, models: null, inFlightMax: 4 });
    expect(await auditOf(keyId)).toEqual([
      {
        action: 'keys.set',
        before: { rpm: 30, models: ['gpt-5-mini'], in_flight_max: null },
        after: { rpm: 60, models: null, in_flight_max: 4 },
        detail: {},
      },
    ]);
    expect(await done('keys', 'set', keyId, '--rpm', 'none', '--budget', 'none', '--in-flight', 'none')).toMatchObject({
      rpm: null,
      budget: null,
      in_flight_max: null,
    });
  });

  it('sets scopes and addresses, and removes the addresses again', async () => {
    const { keyId, apiKey } = await operator.project();
    expect(await find(apiKey)).toMatchObject({ scopes: ['chat', 'media', 'read'], ipRanges: null });
    const ranges = ['203.0.113.7/32', '10.0.0.0/8', '2001:db8::1/128'];
    expect(
      await done('keys', 'set', keyId, '--scopes', 'read,chat', '--ip', '203.0.113.7,10.0.0.0/8,2001:db8::1'),
    ).toMatchObject({ scopes: ['read', 'chat'], ip_ranges: ranges });
    expect(await find(apiKey)).toMatchObject({ scopes: ['read', 'chat'], ipRanges: ranges });
    expect(await done('keys', 'set', keyId, '--ip', 'none')).toMatchObject({ ip_ranges: null });
  });

  it('sets and removes the budgets of a day and of a month, and the metadata', async () => {
    const { keyId } = await operator.project();
    const budgets = ['--budget-daily', '20', '--budget-monthly', '300'];
    expect(await done('keys', 'set', keyId, ...budgets, '--metadata', 'team=ads, env=a=b')).toMatchObject({
      budget: null,
      budget_daily: 20,
      budget_monthly: 300,
      metadata: { team: 'ads', env: 'a=b' },
    });
    const none = ['--budget-daily', 'none', '--metadata', '{"who":"a, b"}'];
    expect(await done('keys', 'set', keyId, ...none)).toMatchObject({
      budget_daily: null,
      budget_monthly: 300,
      metadata: { who: 'a, b' },
    });
    expect(await done('keys', 'set', keyId, '--metadata', 'none')).toMatchObject({ metadata: {} });
  });

  it('sets and removes the expiry of a key', async () => {
    const { keyId, apiKey } = await operator.project();
    expect(await done('keys', 'set', keyId, '--expires', '2020-01-01')).toMatchObject({
      expires_at: 1_577_836_800,
      warnings: ['The key has already expired.'],
    });
    expect(await find(apiKey)).toBeNull();
    await done('keys', 'set', keyId, '--expires', 'none');
    expect(await find(apiKey)).toMatchObject({ keyId });
  });

  it('refuses an unknown or revoked key, an empty change, and invalid values', async () => {
    const { keyId } = await operator.project();
    expect(await refused('keys', 'set', 'key_nobody', '--rpm', '1')).toContain('no key key_nobody');
    expect(await refused('keys', 'set', keyId)).toContain('Nothing to change');
    for (const [flag, value] of [
      ['--rpm', '0'],
      ['--rpm', '-1'],
      ['--budget', '1.5'],
      ['--in-flight', 'many'],
      ['--expires', 'soon'],
      ['--models', ','],
      ['--scopes', 'admin'],
      ['--ip', '10.0.0.0/33'],
      ['--budget-daily', '-1'],
      ['--metadata', 'team'],
      ['--metadata', '{"team":1}'],
    ] as const)
      expect((await tollgate('keys', 'set', keyId, `${flag}=${value}`)).code).toBe(2);
    await done('keys', 'revoke', keyId);
    expect(await refused('keys', 'set', keyId, '--rpm', '1')).toContain('revoked');
  });
});

describe('tollgate keys show', () => {
  it('shows a key with its limits, the use of each, its project and who created it, and never its secret', async () => {
    const { projectId, keyId } = await operator.project();
    const made = await done('keys', 'create', '--project', projectId, '--name', 'web', '--rpm', '60', '--actor', 'ada');
    expect(await done('keys', 'show', String(made['key_id']))).toMatchObject({
      key_id: made['key_id'],
      project_id: projectId,
      project_name: expect.any(String),
      name: 'web',
      state: 'active',
      rpm: 60,
      requests: 0,
      in_flight: 0,
      used_today: 0,
      created_by: expect.stringContaining('ada'),
    });
    expect(JSON.stringify(await done('keys', 'show', String(made['key_id'])))).not.toContain(String(made['api_key']));
    expect(await done('keys', 'show', keyId)).toMatchObject({ rpm: null, requests: null });
    expect(await refused('keys', 'show', 'key_none')).toContain('There is no key key_none.');
  });
});

describe('tollgate keys create', () => {
  it('gives a key the given scopes and addresses', async () => {
    const { projectId } = await operator.project();
    const flags = ['--scopes', 'media', '--ip', '2001:db8::/32'];
    const Made = z.object({ api_key: z.string() });
    const { api_key: apiKey } = Made.parse(await done('keys', 'create', '--project', projectId, ...flags));
    expect(await find(apiKey)).toMatchObject({ scopes: ['media'], ipRanges: ['2001:db8::/32'] });
  });

  it('gives a key the default limits of the configuration, unless it names its own or none', async () => {
    const { projectId } = await operator.project();
    const defaults = commandLine(() => ({ ...home.settings, KEY_RPM_DEFAULT: '60', KEY_IN_FLIGHT_DEFAULT: '5' }));
    const Made = z.object({ api_key: z.string() });
    const limitsOf = async (cli: typeof defaults, ...flags: string[]) => {
      const { api_key: apiKey } = Made.parse(await cli.done('keys', 'create', '--project', projectId, ...flags));
      const key = await find(apiKey);
      return [key?.rpm, key?.inFlightMax];
    };
    expect(await limitsOf({ tollgate, done, refused })).toEqual([null, null]);
    expect(await limitsOf(defaults)).toEqual([60, 5]);
    expect(await limitsOf(defaults, '--rpm', '7')).toEqual([7, 5]);
    expect(await limitsOf(defaults, '--rpm', 'none', '--in-flight', 'none')).toEqual([null, null]);
  });
});

describe('tollgate keys create --secret', () => {
  const create = (projectId: string, input: string) =>
    new Promise<{ code: number | null; text: string }>((resolve, reject) => {
      const args = ['keys', 'create', '--project', projectId, '--secret', '-', '--json'];
      const child = spawn(nodeBinary, [join(projectFolder, 'src/main/cli.ts'), ...args], {
        env: { ...compileCache(), ...home.settings },
      });
      let text = '';
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += String(chunk)));
      child.on('error', reject).on('close', (code) => resolve({ code, text }));
      child.stdin.end(input);
    });

  it('gives a key a secret from stdin, whose line break is not part of it, and writes it nowhere', async () => {
    const { projectId } = await operator.project();
    const secret = 'sk-fixed-0123456789abcdefghijklmnopqrstuvwxyz_Q1';
    const { code, text } = await create(projectId, `${secret}\r\n`);
    expect({ code, text }).toMatchObject({ code: 0 });
    const { key_id: keyId, api_key: apiKey } = z
      .object({ key_id: z.string(), api_key: z.string() })
      .parse(JSON.parse(text));
    expect(apiKey).toBe(secret);
    expect(await find(secret)).toMatchObject({ keyId, projectId });
    expect(JSON.stringify(await auditOf(keyId))).not.toContain(secret);
    expect(
      await rowsOf(db, 'select prefix, last4, checksummed from api_key_secret where key_id = $1', [keyId]),
    ).toEqual([{ prefix: 'sk-fixed', last4: 'z_Q1', checksummed: false }]);
  });

  it('refuses a secret that any key has or had, under any pepper, also of a revoked key or an earlier secret', async () => {
    const { projectId } = await operator.project();
    const other = await operator.project();
    const give = (secret: string) => refused('keys', 'create', '--project', projectId, '--secret', secret);
    expect(await give(other.apiKey)).toContain('A key has this secret already');
    await done('keys', 'rotate', other.keyId, '--now');
    await done('keys', 'revoke', other.keyId);
    expect(await give(other.apiKey)).toContain('A key has this secret already');
    const rotated = commandLine(() => ({
      ...home.settings,
      KEY_PEPPERS: `p9:${Buffer.alloc(32, 9).toString('base64')},${home.settings['KEY_PEPPERS'] ?? ''}`,
    }));
    const again = ['keys', 'create', '--project', projectId, '--secret', other.apiKey];
    expect(await rotated.refused(...again)).toContain('A key has this secret already');
    expect(await refused('keys', 'create', '--project', 'prj_nobody', '--secret', 'sk-of-nobody-0123456789')).toContain(
      'no project',
    );
  });

  it('creates one key when two calls give the same secret at the same time', async () => {
    const { projectId } = await operator.project();
    const args = ['keys', 'create', '--project', projectId, '--secret', 'sk-of-two-calls-0123456789'];
    const codes = (await Promise.all([tollgate(...args), tollgate(...args)])).map(({ code }) => code);
    expect(codes.sort()).toEqual([0, 1]);
  });

  it.each([
    ['without the prefix', 'pk-0123456789abcdefghij', 'must begin with sk-'],
    ['of 19 characters', 'sk-0123456789abcdef', 'must have at least 20 characters'],
    ['with a space', 'sk-0123456789 abcdefghij', 'printable ASCII'],
    ['that is not ASCII', 'sk-0123456789abcdefghié', 'printable ASCII'],
    ['of 513 characters', `sk-${'a'.repeat(510)}`, 'at most 512'],
  ])('refuses a secret %s', async (_form, secret, reason) => {
    const { projectId } = await operator.project();
    const { code, printed } = await tollgate('keys', 'create', '--project', projectId, '--secret', secret);
    expect({ code, printed: JSON.stringify(printed) }).toEqual({ code: 2, printed: expect.stringContaining(reason) });
    expect(JSON.stringify(printed)).not.toContain(secret);
  });
});

describe('tollgate keys rotate', () => {
  it('with --now ends every older secret immediately, also those of an earlier rotation', async () => {
    const { keyId, apiKey: first } = await operator.project();
    const Rotated = z.object({ api_key: z.string(), previous_until: z.number() });
    const { api_key: second } = Rotated.parse(await done('keys', 'rotate', keyId));
    for (const secret of [first, second]) expect(await find(secret)).toMatchObject({ keyId });
    const rotated = Rotated.parse(await done('keys', 'rotate', keyId, '--now'));
    for (const secret of [first, second]) expect(await find(secret)).toBeNull();
    expect(await find(rotated.api_key)).toMatchObject({ keyId });
    expect(rotated.previous_until).toBeLessThanOrEqual(Math.ceil(Date.now() / 1000));
    expect(await auditOf(keyId)).toMatchObject([{ action: 'keys.rotate', detail: { now: true } }]);
  });

  it('gives the key a new secret and accepts the old one until the overlap ends', async () => {
    const { keyId, apiKey: old } = await operator.project({ rpm: 7 });
    const rotated = z
      .strictObject({ key_id: z.literal(keyId), api_key: z.string(), previous_until: z.number() })
      .parse(await done('keys', 'rotate', keyId));
    expect(rotated.api_key).toMatch(/^sk-[0-9A-Za-z]{46}$/);
    expect(rotated.previous_until).toBeGreaterThan(Date.now() / 1000 + 86_000);
    for (const secret of [old, rotated.api_key]) expect(await find(secret)).toMatchObject({ keyId, rpm: 7 });
    expect(JSON.stringify(await auditOf(keyId))).not.toContain(rotated.api_key);
    const shown = (secret: string): string => `${secret.slice(0, 8)}…${secret.slice(-4)}`;
    expect(await auditOf(keyId)).toMatchObject([
      {
        action: 'keys.rotate',
        before: { secret: shown(old), previous_until: null },
        after: { secret: shown(rotated.api_key), previous_until: rotated.previous_until },
      },
    ]);

    await run(
      db,
      `update api_key_secret set expires_at = clock_timestamp() where key_id = $1 and expires_at is not null`,
      [keyId],
    );
    expect(await find(old)).toBeNull();
    expect(await find(rotated.api_key)).toMatchObject({ keyId });
  });

  it('does not extend the earlier end of a secret, and refuses a revoked or unknown key', async () => {
    const { keyId, apiKey: first } = await operator.project();
    await done('keys', 'rotate', keyId);
    await run(db, `update api_key_secret set expires_at = '2020-01-01Z' where key_id = $1 and expires_at is not null`, [
      keyId,
    ]);
    await done('keys', 'rotate', keyId);
    expect(await find(first)).toBeNull();
    await done('keys', 'revoke', keyId);
    expect(await refused('keys', 'rotate', keyId)).toContain('revoked');
    expect(await refused('keys', 'rotate', 'key_nobody')).toContain('no key');
  });
});

describe('tollgate projects', () => {
  it('disable rejects every key of the project, enable accepts them again, and the audit log has each change once', async () => {
    const { projectId, apiKey } = await operator.project();
    expect(await done('projects', 'disable', projectId)).toEqual({
      project_id: projectId,
      status: 'disabled',
      changed: true,
    });
    expect(await done('projects', 'disable', projectId)).toMatchObject({ changed: false });
    expect(await find(apiKey)).toBeNull();
    expect(await done('projects', 'enable', projectId)).toMatchObject({ status: 'active', changed: true });
    expect(await find(apiKey)).not.toBeNull();
    const entries = await rowsOf<{ action: string }>(
      db,
      'select action from audit_entry where subject = $1 order by id',
      [projectId],
    );
    expect(entries.map(({ action }) => action).slice(-2)).toEqual(['projects.disable', 'projects.enable']);
    expect(await refused('projects', 'disable', 'prj_nobody')).toContain('no project');
  });

  it('secret show prints the callback secret, secret rotate creates another, and the audit log has both', async () => {
    const { projectId, webhookSecret } = await operator.project();
    expect(await done('projects', 'secret', 'show', projectId)).toEqual({
      project_id: projectId,
      webhook_secret: webhookSecret,
      previous_secret: null,
      previous_until: null,
    });
    expect(await auditOf(projectId)).toEqual([
      { action: 'projects.secret.show', before: null, after: null, detail: {} },
    ]);
    const rotated = await done('projects', 'secret', 'rotate', projectId);
    expect(rotated).toMatchObject({ previous_secret: webhookSecret, previous_until: expect.any(Number) });
    expect(rotated['webhook_secret']).toMatch(/^whsec_/);
    expect(rotated['webhook_secret']).not.toBe(webhookSecret);
    expect(await auditOf(projectId)).toEqual([
      {
        action: 'projects.secret.rotate',
        before: { secret: 'the earlier one', previous_until: null },
        after: { secret: 'a new one', previous_until: rotated['previous_until'] },
        detail: {},
      },
    ]);
    expect(await refused('projects', 'secret', 'show', 'prj_nobody')).toContain('no project');
  });
});

describe('tollgate credits adjust', () => {
  it('gives back the credits of a chat or a task once per reason, and never more than was charged', async () => {
    const { projectId, keyId } = await operator.project({ credits: 100, budget: 50 });
    const ledger = openChatLedger(db);
    const admission = anAdmission({ projectId, keyId }, { credits: 40 });
    await ledger.admit(admission);
    const adjust = (...more: string[]) => ['credits', 'adjust', '--task', admission.requestId, ...more];
    expect(await refused(...adjust('--reason', 'early'))).toContain('not been charged');
    await ledger.end(settledEnd(admission, 30));

    expect(await done(...adjust('--reason', 'half was wrong', '--amount', '10'))).toEqual({
      task_id: admission.requestId,
      project_id: projectId,
      given: 10,
      charged: 30,
      given_in_all: 10,
      balance: 80,
    });
    expect(await done(...adjust('--reason', 'half was wrong', '--amount', '10'))).toMatchObject({
      given: 0,
      balance: 80,
    });
    expect(await refused(...adjust('--reason', 'half was wrong', '--amount', '11'))).toContain('Another amount');
    expect(await refused(...adjust('--reason', 'too much', '--amount', '21'))).toContain('no more than 20');
    expect(await done(...adjust('--reason', 'the rest'))).toMatchObject({ given: 20, given_in_all: 30, balance: 100 });
    expect(await refused(...adjust('--reason', 'again'))).toContain('have been given back');
    expect(await refused('credits', 'adjust', '--task', 'req_nobody', '--reason', 'x')).toContain('req_nobody');

    const tasks = openLedger(db);
    const { taskId } = await admitted(tasks, newTask({ projectId, keyId }, 12));
    await attemptEndedOk(db, taskId);
    await tasks.finishTask(taskEnd(taskId, 'succeeded'));
    expect(await done('credits', 'adjust', '--task', taskId, '--reason', 'a poor picture')).toMatchObject({
      given: 12,
      balance: 100,
    });
    expect(await done('tasks', 'timeline', taskId)).toMatchObject({
      explanation: expect.stringContaining('Credits charged: 12 of 12 held. Credits given back later: 12.'),
      for_customer: expect.stringMatching(/ succeeded and cost nothing\.$/),
    });
    for (const reason of ['not_delivered', 'the answer was not delivered'])
      for (const id of [admission.requestId, taskId])
        expect(await refused('credits', 'adjust', '--task', id, '--reason', reason)).toContain('Choose other words');
    const failed = await admitted(tasks, newTask({ projectId, keyId }, 12));
    await tasks.finishTask(taskEnd(failed.taskId, 'failed'));
    expect(await refused('credits', 'adjust', '--task', failed.taskId, '--reason', 'x')).toContain('not been charged');

    expect(await rowsOf(db, 'select spent, reserved from api_key where id = $1', [keyId])).toEqual([
      { spent: 0, reserved: 0 },
    ]);
    expect(await auditOf(admission.requestId)).toEqual([
      {
        action: 'credits.adjust',
        before: { balance: expect.any(Number), given_in_all: expect.any(Number) },
        after: { balance: expect.any(Number), given_in_all: expect.any(Number) },
        detail: { project_id: projectId, amount: 20, reason: 'the rest' },
      },
    ]);
    expect(await breachesIn(db)).toEqual([]);
  });
});

describe('tollgate tasks redeliver', () => {
  it("sends an ended task's callback again under a new id while Temporal is unreachable, which the audit log records", async () => {
    const { projectId, keyId } = await operator.project({ credits: 100 });
    const ledger = openLedger(db);
    const callbackUrl = 'https://example.com/hook';
    const { taskId } = await admitted(ledger, newTask({ projectId, keyId }, 5, { callbackUrl }));
    expect(await refused('tasks', 'redeliver', taskId)).toContain('not ended');
    await attemptEndedOk(db, taskId);
    await ledger.finishTask(taskEnd(taskId, 'succeeded'));

    expect(await done('tasks', 'redeliver', taskId)).toMatchObject({
      task_id: taskId,
      callback: { state: 'pending', attempts: 0 },
    });
    const deliveries = await rowsOf<{ id: string; eventId: string }>(
      db,
      'select id, event_id from delivery where task_id = $1',
      [taskId],
    );
    expect(new Set(deliveries.map(({ id }) => id)).size).toBe(2);
    expect(await auditOf(taskId)).toMatchObject([{ action: 'tasks.redeliver' }]);
  });

  it('refuses a task without a callback and a task that does not exist', async () => {
    const { projectId, keyId } = await operator.project({ credits: 100 });
    const ledger = openLedger(db);
    const { taskId } = await admitted(ledger, newTask({ projectId, keyId }, 5));
    await ledger.finishTask(taskEnd(taskId, 'failed'));
    expect(await refused('tasks', 'redeliver', taskId)).toContain('no callback_url');
    expect(await auditOf(taskId)).toEqual([]);
    expect(await refused('tasks', 'redeliver', 'task_nobody')).toContain('no task');
  });
});
