import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { runByCall } from '../services/scheduled-jobs/scheduler.ts';
import { mediaRoutes } from '../support/api-client.ts';
import { awayFromMidnight } from '../support/away-from-midnight.ts';
import { commandLine } from '../support/command-line.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { quickSettings } from '../support/gateway-settings.ts';
import { nodeBinary, projectFolder } from '../support/program.ts';
import { accountOf } from '../support/rows.ts';
import { createRolesAndDatabases, type OwnRoles } from './roles.ts';

await awayFromMidnight();

const secrets = {
  TOLLGATE_OWNER_DB_PASSWORD: randomBytes(24).toString('hex'),
  TOLLGATE_DB_PASSWORD: randomBytes(24).toString('hex'),
  TEMPORAL_DB_PASSWORD: randomBytes(24).toString('hex'),
};
let folder: string;
let roles: OwnRoles;
let gateway: Gateway;

/** Runs `migrate` as a release does, with the URL of the owner from a file. */
const migrate = async (own: Record<string, string> = {}): Promise<{ code: number; output: string }> => {
  const ownerUrlFile = join(folder, 'owner-url');
  writeFileSync(ownerUrlFile, roles.ownerUrl);
  const env = {
    ...quickSettings,
    EGRESS_ALLOW_CIDRS: '',
    DATABASE_URL: roles.url,
    MIGRATE_DATABASE_URL_FILE: ownerUrlFile,
  };
  return promisify(execFile)(nodeBinary, [join(projectFolder, 'src/main/migrate.ts')], {
    env: { ...env, ...own },
    timeout: 240_000,
  }).then(
    ({ stdout }) => ({ code: 0, output: stdout.trim() }),
    ({ code, stderr }: { code: number; stderr: string }) => ({ code, output: stderr.trim() }),
  );
};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-roles-'));
  roles = await createRolesAndDatabases(secrets);
  expect(await migrate()).toEqual({ code: 0, output: expect.stringContaining('0001-baseline') });
  gateway = await startGateway({
    scratch: { url: roles.url, runtimeUrl: roles.url, drop: () => roles.drop() },
    env: { BOOKS_LAG_SECONDS: '0' },
  });
});
afterAll(async () => {
  await gateway?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const read = (path: string): string => readFileSync(join(projectFolder, path), 'utf8');
const days = (ago: number): string => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);

describe('a gateway whose role owns nothing', () => {
  it('connects as that role only', async () => {
    const users = await roles.asSuperuser(
      `select distinct usename::text as name from pg_stat_activity
       where datname = current_database() and application_name like 'tollgate%'`,
    );
    expect(users).toEqual([{ name: roles.role }]);
  });

  it('serves chats, media tasks and callbacks, and its operators give credits', async () => {
    const { apiKey, projectId } = await gateway.project({ credits: 0 });
    const { done } = commandLine(() => gateway.env);
    await done('credits', 'add', '--project', projectId, '--amount', '100', '--reference', 'first');
    const chat = await gateway.create(apiKey, '/api/v1/chat/completions', {
      model: 'gpt-5-mini',
      messages: [{ role: 'user', content: 'hello' }],
      max_tokens: 16,
    });
    expect(chat.status).toBe(200);
    const taskId = await gateway.accept(apiKey, mediaRoutes.image, {
      model: 'aurora-image-1',
      prompt: 'a fox',
      callback_url: `${gateway.sandboxUrl}/_sandbox/inbox/roles`,
    });
    expect(await gateway.poll(apiKey, taskId)).toMatchObject({ status: 'succeeded', credits: { charged: 4 } });
    await eventually(async () => {
      const received: unknown = await (await fetch(`${gateway.sandboxUrl}/_sandbox/inbox/roles/received`)).json();
      return JSON.stringify(received).includes(taskId);
    });
    await eventually(async () => {
      const rows = await roles.asRuntime(`select from delivery where state = 'delivered' and task_id = '${taskId}'`);
      return rows.length === 1;
    });
    expect((await accountOf(gateway.database, projectId)).reserved).toBe(0);
    expect(await gateway.verifyLedger()).toMatchObject({ ok: true });
  });

  it('runs every step of maintenance, and creates and drops the days of API details', async () => {
    await roles.asOwner(`drop table api_detail_${days(-1).replaceAll('-', '')}`);
    await roles.asOwner(
      `create table api_detail_${days(40).replaceAll('-', '')} partition of api_detail
       for values from ('${days(40)} 00:00:00+00') to ('${days(39)} 00:00:00+00')`,
    );
    const { body } = await runByCall(gateway, 'scheduled-maintenance');
    expect(body).toMatchObject({
      state: 'succeeded',
      summary: {
        failed_steps: [],
        ledger_breaches: [],
        detail_partitions_made: 1,
        detail_partitions_dropped: 1,
        checkpoint_id: expect.any(Number),
        months: [expect.anything()],
      },
    });
    expect(await commandLine(() => gateway.env).done('ledger', 'verify', '--full')).toMatchObject({ ok: true });
  });

  it.each([
    'create temporary table extra (id int)',
    'create table extra (id int)',
    'truncate ledger_entry',
    'delete from audit_entry',
    'alter table ledger_entry disable trigger all',
    'alter role tollgate superuser',
  ])('is refused by PostgreSQL: %s', async (statement) => {
    const own = statement.replace('role tollgate', `role ${roles.role}`);
    await expect(roles.asRuntime(own)).rejects.toMatchObject({ code: '42501' });
  });
});

describe('migrate with MIGRATE_DATABASE_URL', () => {
  it('repeats the grants, and reads the secret from a file', async () => {
    await roles.asOwner(`revoke all on task from "${roles.role}"`);
    await roles.asOwner(`grant delete on ledger_entry to "${roles.role}"`);
    expect(await migrate()).toEqual({ code: 0, output: '{"applied":[]}' });
    expect(await roles.asRuntime('select count(*)::int as tasks from task')).toEqual([{ tasks: 1 }]);
    await expect(roles.asRuntime('delete from ledger_entry')).rejects.toMatchObject({ code: '42501' });
  });

  it('stores API_DETAIL_RETENTION_DAYS, which the runtime role cannot lower', async () => {
    expect(await migrate({ API_DETAIL_RETENTION_DAYS: '60' })).toMatchObject({ code: 0 });
    await expect(roles.asRuntime('select * from drop_api_detail_partition(59)')).rejects.toMatchObject({
      code: '55000',
    });
    expect(await roles.asRuntime('select * from drop_api_detail_partition(60)')).toEqual([]);
  });

  it('takes over a database of one role, as docs/PRODUCTION.md says', async () => {
    const split = await createRolesAndDatabases(secrets);
    try {
      await split.asSuperuser(`alter database "${split.databaseName}" owner to "${split.role}"`);
      const alone = { DATABASE_URL: split.url, MIGRATE_DATABASE_URL_FILE: '' };
      expect(await migrate(alone)).toMatchObject({ code: 0 });
      await split.asRuntime('select ensure_api_detail_partitions()');
      const both = { DATABASE_URL: split.url, MIGRATE_DATABASE_URL_FILE: '', MIGRATE_DATABASE_URL: split.ownerUrl };
      expect(await migrate(both)).toMatchObject({ code: 1 });

      const [, statements = ''] =
        /```\ncreate role tollgate_owner .*\n([^`]*)```/.exec(read('docs/PRODUCTION.md')) ?? [];
      for (const statement of split
        .own(statements)
        .split(';')
        .filter((text) => text.trim() !== ''))
        await split.asSuperuser(statement);
      expect(await migrate(both)).toEqual({ code: 0, output: '{"applied":[]}' });
      for (const refused of [
        'drop table task',
        `drop table api_detail_${days(0).replaceAll('-', '')}`,
        'create table extra ()',
      ])
        await expect(split.asRuntime(refused)).rejects.toMatchObject({ code: '42501' });
      await split.asRuntime('select count(*) from task');
    } finally {
      await split.drop();
    }
  });

  it('fails if the runtime role cannot connect, or if it would migrate itself', async () => {
    const wrong = new URL(roles.url);
    wrong.password = 'wrong';
    expect(await migrate({ DATABASE_URL: wrong.href })).toEqual({
      code: 1,
      output: expect.stringContaining('password authentication failed'),
    });
    expect(await migrate({ MIGRATE_DATABASE_URL_FILE: '' })).toEqual({
      code: 1,
      output:
        'permission denied for schema public. MIGRATE_DATABASE_URL must name the role that owns the tables, and without it DATABASE_URL must.',
    });
  });
});
