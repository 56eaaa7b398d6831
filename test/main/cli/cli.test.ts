import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { commandList, type ListedEntry } from '../../../src/admin/command-list.ts';
import { ensureChannel } from '../../../packages/dev-stack/src/ensure-channel.ts';
import { createKeyCache } from '../../../src/caches/key-cache.ts';
import { testConfig } from '../../support/test-config.ts';
import type { Database } from '../../../src/db/database.ts';
import { coolDownChannel } from '../../../src/db/channels/channels.ts';
import { cli } from '../../../src/main/cli.ts';
import { createSealer } from '../../../src/platform/crypto/seal.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { createOperator } from '../../support/operator.ts';
import { compileCache, nodeBinary, projectFolder } from '../../support/program.ts';
import { type ProcessOutput, Refusal, rows, shipped } from './cli-rows.ts';

let books: TestDatabase;
let db: Database;
let home: string;
let settings: Record<string, string>;

beforeAll(async () => {
  books = await createTestDatabase();
  db = await books.open();
  home = mkdtempSync(join(tmpdir(), 'tollgate-cli-'));
  settings = {
    DATABASE_URL: books.runtimeUrl,
    KEY_PEPPERS: `p1:${randomBytes(32).toString('base64')}`,
    MASTER_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    // No server listens on this port. Only commands that need Temporal may fail.
    TEMPORAL_ADDRESS: '127.0.0.1:1',
    PUBLIC_BASE_URL: 'https://gateway.example',
    TOLLGATE_HOME: home,
  };
});

afterAll(async () => {
  await books?.drop();
  rmSync(home, { recursive: true, force: true });
});

/** Runs the program in a process of its own, with exactly this environment and the compile cache. */
const spawned = (args: string[], env: Record<string, string> = settings): Promise<ProcessOutput> =>
  execute(nodeBinary, [join(projectFolder, 'src/main/cli.ts'), ...args], env);

/** Runs a command in this process, which is faster, for tests that do not depend on the process. */
async function tollgate(args: string[], env: Record<string, string> = settings): Promise<ProcessOutput> {
  const written: string[] = [];
  const code = await cli(args, env, (text) => written.push(text));
  return { code, stdout: written.join(''), stderr: '' };
}

function execute(file: string, args: string[], env: Record<string, string>): Promise<ProcessOutput> {
  return new Promise((resolve, reject) => {
    const options = { env: { ...compileCache(), ...env }, cwd: home, timeout: 240_000, maxBuffer: 4_000_000 };
    execFile(file, args, options, (error, stdout, stderr) => {
      const code = error ? error.code : 0;
      if (typeof code !== 'number') return reject(new Error(`no exit code: ${stderr}`));
      resolve({ code, stdout, stderr });
    });
  });
}

/** Runs a command with `--json`, expects this exit code, and returns the only JSON document that it printed. */
async function json<T>(
  shape: z.ZodType<T>,
  args: string[],
  { code = 0, env = settings, run = tollgate } = {},
): Promise<T> {
  const output = await run([...args, '--json'], env);
  expect({ code: output.code, stderr: output.stderr }).toEqual({ code, stderr: '' });
  return shape.parse(JSON.parse(output.stdout));
}
const Project = z.strictObject({ project_id: z.string(), webhook_secret: z.string() });
const Key = z.strictObject({ key_id: z.string(), api_key: z.string() });
const Credits = z.strictObject({
  project_id: z.string(),
  balance: z.number(),
  reserved: z.number(),
  expiring: z.array(z.strictObject({ credits: z.number(), expires_at: z.number() })).optional(),
});
const AuditEntry = z.strictObject({
  id: z.number(),
  at: z.number().int(),
  actor: z.string(),
  action: z.string(),
  subject: z.string(),
  before: z.record(z.string(), z.unknown()).nullable(),
  after: z.record(z.string(), z.unknown()).nullable(),
  detail: z.record(z.string(), z.unknown()),
});

const aProject = async (): Promise<string> =>
  (await json(Project, ['projects', 'create', '--name', 'test'])).project_id;

const auditOf = async (subject: string) =>
  (await json(rows(AuditEntry), ['audit', 'list', '--subject', subject])).data.map(
    ({ action, before, after, detail }) => ({ action, before, after, detail }),
  );

describe('tollgate projects', () => {
  it('creates a project with an empty account and prints its callback secret, and the audit log names the user', async () => {
    const made = await json(Project, ['projects', 'create', '--name', 'Acme Ltd'], { run: spawned });
    expect(made.project_id).toMatch(/^prj_/);
    expect(made.webhook_secret).toMatch(/^whsec_/);
    const listed = await tollgate(['projects', 'list', '--json']);
    expect(listed.stdout).not.toContain(made.webhook_secret);
    const { data } = rows(z.looseObject({ project_id: z.string() })).parse(JSON.parse(listed.stdout));
    expect(data.find(({ project_id }) => project_id === made.project_id)).toEqual({
      project_id: made.project_id,
      name: 'Acme Ltd',
      note: null,
      metadata: {},
      status: 'active',
      plan: null,
      overdraft: 0,
      alert_at: null,
      alert_url: null,
      alert_mail: null,
      trace_content: null,
      balance: 0,
      reserved: 0,
      created_at: expect.any(Number),
    });
    const { data: entries } = await json(rows(AuditEntry), ['audit', 'list', '--subject', made.project_id]);
    expect(entries).toMatchObject([
      { action: 'projects.create', before: null, after: { name: 'Acme Ltd', status: 'active' } },
    ]);
    expect(entries[0]?.actor).toMatch(/^cli:./);
  });
});

describe('tollgate keys', () => {
  it('creates a key with every given limit, and the gateway accepts its secret', async () => {
    await json(z.unknown(), ['catalog', 'apply', shipped]);
    const project = await aProject();
    const limits = ['--models', 'aurora-image-1, veo-3.1', '--rpm', '30', '--budget', '500', '--in-flight', '4'];
    const made = await json(Key, [
      'keys',
      'create',
      '--project',
      project,
      '--name',
      'ci',
      ...limits,
      '--expires',
      '2099-01-31',
    ]);
    const keys = createKeyCache(db, testConfig(settings).secrets.keyPeppers, 1);
    expect(await keys.find(made.api_key)).toMatchObject({ keyId: made.key_id, rpm: 30, inFlightMax: 4 });

    const listed = await tollgate(['keys', 'list', '--project', project, '--json']);
    expect(listed.stdout).not.toContain(made.api_key);
    expect(JSON.parse(listed.stdout)).toEqual({
      data: [
        {
          key_id: made.key_id,
          project_id: project,
          name: 'ci',
          playground: false,
          metadata: {},
          state: 'active',
          prefix: made.api_key.slice(0, 8),
          last4: made.api_key.slice(-4),
          scopes: ['chat', 'media', 'read'],
          ip_ranges: null,
          models: ['aurora-image-1', 'veo-3.1'],
          rpm: 30,
          in_flight_max: 4,
          in_flight: 0,
          budget: 500,
          spent: 0,
          reserved: 0,
          budget_daily: null,
          used_today: 0,
          budget_monthly: null,
          used_this_month: 0,
          expires_at: Date.UTC(2099, 0, 31) / 1000,
          revoked_at: null,
          last_used_at: null,
          created_at: expect.any(Number),
        },
      ],
    });
  });

  it('refuses a model that the catalog does not have, and creates the key, with a warning, for a glob of such models', async () => {
    const project = await aProject();
    const create = ['keys', 'create', '--project', project, '--models'];
    const refusal = await json(Refusal, [...create, 'not-yet-sold'], { code: 1 });
    expect(refusal.error.message).toContain('models names not-yet-sold, and no model of the catalog has this name.');
    const Warned = Key.extend({ warnings: z.array(z.string()) });
    const made = await json(Warned, [...create, 'not-yet-*']);
    expect(made.warnings).toEqual([expect.stringContaining('not-yet-*')]);
  });

  it('revokes a key immediately, and a second call reports no change', async () => {
    const made = await json(Key, ['keys', 'create', '--project', await aProject()]);
    const Revoked = z.strictObject({ key_id: z.literal(made.key_id), revoked_at: z.number(), changed: z.boolean() });
    expect(await json(Revoked, ['keys', 'revoke', made.key_id])).toMatchObject({ changed: true });
    const keys = createKeyCache(db, testConfig(settings).secrets.keyPeppers, 1);
    expect(await keys.find(made.api_key)).toBeNull();
    expect(await json(Revoked, ['keys', 'revoke', made.key_id])).toMatchObject({ changed: false });
    expect((await auditOf(made.key_id)).map(({ action }) => action)).toEqual(['keys.revoke', 'keys.create']);
    await json(Refusal, ['keys', 'revoke', 'key_nobody'], { code: 1 });
  });

  it('writes no secret into the audit log', async () => {
    const made = await json(Key, ['keys', 'create', '--project', await aProject()]);
    const all = await tollgate(['audit', 'list', '--limit', '10000', '--json']);
    expect(all.stdout).toContain(made.key_id);
    expect(all.stdout).not.toMatch(/sk-|whsec_/);
  });
});

describe('tollgate credits', () => {
  it('adds credits once per reference, and refuses the same reference with another amount', async () => {
    const project = await aProject();
    const add = (amount: string) => [
      'credits',
      'add',
      '--project',
      project,
      '--amount',
      amount,
      '--reference',
      'invoice-1',
    ];
    const after = { project_id: project, balance: 500, reserved: 0 };
    expect(await json(Credits, add('500'))).toEqual(after);
    expect(await json(Credits, add('500'))).toEqual(after);
    expect((await json(Refusal, add('501'), { code: 1 })).error.message).toContain('invoice-1');
    expect(await json(Credits, ['credits', 'show', '--project', project])).toEqual({ ...after, expiring: [] });
    expect((await auditOf(project)).filter(({ action }) => action === 'credits.add')).toEqual([
      {
        action: 'credits.add',
        before: { balance: 0 },
        after: { balance: 500 },
        detail: { amount: 500, reference: 'invoice-1' },
      },
    ]);
  });

  it('refuses a project that does not exist', async () => {
    await json(Refusal, ['credits', 'show', '--project', 'prj_nobody'], { code: 1 });
    await json(Refusal, ['credits', 'add', '--project', 'prj_nobody', '--amount', '5', '--reference', 'x'], {
      code: 1,
    });
  });

  it('accepts only whole amounts from 1 to the largest exact integer', async () => {
    const amounts = ['0', '-5', '1.5', '1e3', '9007199254740992', ''];
    const add = (amount: string) => ['credits', 'add', '--project', 'prj_any', '--reference', 'x', '--amount', amount];
    const refusals = await Promise.all(amounts.map((amount) => json(Refusal, add(amount), { code: 2 })));
    expect(refusals.filter(({ error }) => !error.message.startsWith('--amount'))).toEqual([]);
  });
});

describe('tollgate channels', () => {
  it('lists channels with their state and never their credential, and enables and disables them', async () => {
    const sealer = createSealer(testConfig(settings).secrets.masterKeys);
    const about = { adapter: 'fal', baseUrl: 'https://upstream.example', groups: ['images'], priority: 3, weight: 2 };
    const channel = { name: 'listed', credential: 'very-secret', ...about, actor: 'test' };
    const { channelId } = await ensureChannel({ db, sealer }, channel);
    await coolDownChannel(db, { channelId, modelId: '*', seconds: 600, reason: 'rate_limit' });

    const shown = async () => {
      const output = await tollgate(['channels', 'list', '--json']);
      expect(output.stdout).not.toMatch(/very-secret|v1\.k1\./);
      const { data } = rows(z.looseObject({ name: z.string() })).parse(JSON.parse(output.stdout));
      return data.find(({ name }) => name === 'listed');
    };
    expect(await shown()).toEqual({
      name: 'listed',
      channel_id: channelId,
      adapter: 'fal',
      base_url: 'https://upstream.example',
      groups: ['images'],
      priority: 3,
      weight: 2,
      enabled: true,
      list_check: true,
      created_at: expect.any(Number),
      credentials: [expect.objectContaining({ last4: 'cret', state: 'ready' })],
      limits: expect.objectContaining({ rpm: null, tpm: null, parallel: null, not_drawn: null }),
      state: 'resting',
      reasons: [
        expect.objectContaining({ kind: 'resting', model: '*', until: expect.any(Number), reason: 'rate_limit' }),
      ],
    });
    const Switched = z.strictObject({
      channel_id: z.literal(channelId),
      name: z.literal('listed'),
      enabled: z.boolean(),
      changed: z.boolean(),
    });
    expect(await json(Switched, ['channels', 'disable', 'listed'])).toMatchObject({ enabled: false, changed: true });
    expect(await json(Switched, ['channels', 'disable', 'listed'])).toMatchObject({ enabled: false, changed: false });
    expect(await shown()).toMatchObject({ enabled: false, state: 'disabled' });
    expect(await json(Switched, ['channels', 'enable', channelId])).toMatchObject({ enabled: true, changed: true });
    await json(Refusal, ['channels', 'enable', 'nobody'], { code: 1 });
  });
});

describe('tollgate ledger verify', () => {
  const Report = z.strictObject({
    ok: z.boolean(),
    since: z.null(),
    invariants: z.record(
      z.string().regex(/^C\d+$/),
      z.strictObject({ breaches: z.number(), promise: z.string().min(1), examples: z.array(z.string()) }),
    ),
  });

  it('finds no breach in a consistent ledger, and names the invariant and the account of a changed balance', async () => {
    const { projectId } = await anOwner();
    const clean = await json(Report, ['ledger', 'verify']);
    expect(clean.ok).toBe(true);
    expect(Object.values(clean.invariants).map(({ breaches }) => breaches)).toEqual(
      Object.keys(clean.invariants).map(() => 0),
    );

    const shift = (by: number) =>
      db.query(`shift-${by}`, `update credit_account set balance = balance + ${by} where project_id = $1`, [projectId]);
    await shift(7);
    try {
      const dirty = await json(Report, ['ledger', 'verify', '--full'], { code: 1 });
      expect(dirty.ok).toBe(false);
      expect(dirty.invariants['C1']).toMatchObject({ breaches: 1, examples: [projectId] });
      expect((await spawned(['ledger', 'verify'])).code).toBe(1);
    } finally {
      await shift(-7);
    }
  });
});

const misuses = [
  [],
  ['keys'],
  ['keys', 'paint'],
  ['projects', 'list', '--loud'],
  ['projects', 'create'],
  ['projects', 'create', '--name', ' '],
  ['keys', 'revoke'],
  ['keys', 'revoke', 'key_a', 'key_b'],
  ['keys', 'create', '--project', 'prj_any', '--rpm', 'fast'],
  ['keys', 'create', '--project', 'prj_any', '--in-flight', '2147483648'],
  ['keys', 'create', '--project', 'prj_any', '--expires', 'soon'],
  ['tasks', 'list', '--status', 'lost'],
  ['credits', 'add', '--project', 'prj_any', '--amount', '5'],
];

describe('tollgate --version', () => {
  it('prints the version of the package alone, without a configuration or a database', async () => {
    const { version } = z
      .object({ version: z.string() })
      .parse(JSON.parse(readFileSync(join(projectFolder, 'package.json'), 'utf8')));
    expect(await spawned(['--version'], {})).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
  });
});

describe('what a command loads', () => {
  /** Written to stderr at the end of a process: the packages that it loaded, and the layers of its own modules. */
  const reporter = `data:text/javascript,${encodeURIComponent(`
    import { registerHooks } from 'node:module';
    const loaded = new Set();
    registerHooks({ load(url, context, next) { loaded.add(url); return next(url, context); } });
    const namesOf = (pattern) => [...new Set([...loaded].flatMap((url) => pattern.exec(url)?.[1] ?? []))].sort();
    process.on('exit', () => console.error(JSON.stringify({
      packages: namesOf(/\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)/), layers: namesOf(/\\/src\\/([^/]+)\\//) })));
  `)}`;
  const loadedBy = async (...args: string[]): Promise<unknown> => {
    const { stderr } = await spawned(args, { NODE_OPTIONS: `--import=${reporter}` });
    return JSON.parse(stderr.slice(stderr.lastIndexOf('{')));
  };

  it('is the parser of its arguments and the list of commands for --version, for the help and for the help of every group', async () => {
    const named = [['--version'], ['--help'], ['keys', '--help'], ['help', 'channels'], ['credits', 'add', '--help']];
    const loaded = await Promise.all(named.map((args) => loadedBy(...args)));
    expect(loaded).toEqual(named.map(() => ({ packages: ['commander'], layers: ['admin', 'http', 'main'] })));
  });
});

describe('the command line', () => {
  it('takes what may be absent as an option, such as the order of a list, and by its position only what needs no name', async () => {
    const positional = (entry: ListedEntry, words: readonly string[]): string[] =>
      'entries' in entry
        ? Object.entries(entry.entries).flatMap(([name, inner]) => positional(inner, [...words, name]))
        : Object.entries(entry.inputs).flatMap(([name, { mayBeAbsent, placeholder }]) =>
            mayBeAbsent && placeholder === undefined ? [[...words, name].join(' ')] : [],
          );
    const all = Object.entries(commandList).flatMap(([name, entry]) => positional(entry, [name]));
    expect(all).toEqual(['catalog compare file', 'catalog show model']);
    const Sorted = rows(z.looseObject({ created_at: z.number() }));
    const { data } = await json(Sorted, ['projects', 'list', '--sort', 'oldest']);
    const times = data.map(({ created_at: at }) => at);
    expect(times).toEqual(times.toSorted((one, other) => one - other));
  });

  it('exits with 2 for wrong usage, and prints one JSON document with --json', async () => {
    await Promise.all(misuses.map((args) => json(Refusal, args, { code: 2 })));
    const [plain, unfinished] = await Promise.all([spawned(['projects', 'list', '--loud']), spawned(['keys'])]);
    expect(plain).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining("unknown option '--loud'") });
    expect(unfinished).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining('Usage: tollgate keys') });
  });

  it('is started by its launcher, which returns its output and exit code', async () => {
    const launched: typeof tollgate = (args, env = settings) =>
      execute(process.execPath, [join(projectFolder, 'bin/tollgate.mjs'), ...args], env);
    await json(z.looseObject({ ok: z.literal(true) }), ['catalog', 'check', shipped], { run: launched });
    await json(Refusal, ['keys', 'paint'], { code: 2, run: launched });
  });

  it('prints the options of a command with --help', async () => {
    const output = await spawned(['keys', 'create', '--help']);
    expect(output).toMatchObject({ code: 0, stderr: '' });
    for (const flag of ['project', 'name', 'models', 'rpm', 'budget', 'in-flight', 'expires', 'json']) {
      expect(output.stdout).toContain(`--${flag}`);
    }
  });

  it('prints aligned text without terminal escape sequences', async () => {
    const { code, stdout } = await tollgate(['projects', 'create', '--name', 'red \u001b[31m alert']);
    expect(code).toBe(0);
    const listed = await spawned(['projects', 'list']);
    expect(listed.stdout).toMatch(/^PROJECT_ID +NAME +STATUS/);
    expect(listed.stdout).toContain('alert');
    expect(stdout + listed.stdout).not.toContain('\u001b');
  });

  it('says that no database is configured, or that the database cannot be reached', async () => {
    const empty = { TOLLGATE_HOME: home };
    const { error } = await json(Refusal, ['projects', 'list'], { code: 1, env: empty, run: spawned });
    expect(error.message).toContain('DATABASE_URL');
    const away = { ...settings, DATABASE_URL: 'postgresql://postgres:pw@127.0.0.1:1/none' };
    const refused = await json(Refusal, ['projects', 'list'], { code: 1, env: away });
    expect(refused.error.message).toContain('cannot be reached');
  });

  it('requires secrets only for commands that use them, and names a missing one', async () => {
    const env = { DATABASE_URL: books.runtimeUrl, TOLLGATE_HOME: home };
    await json(rows(z.unknown()), ['projects', 'list'], { env });
    const { error } = await json(Refusal, ['projects', 'create', '--name', 'x'], { code: 2, env });
    expect(error.message).toContain('MASTER_KEYS is required');
  });

  it('finds the database and the secrets of a running `npm start` by its state folder', async () => {
    const running = mkdtempSync(join(tmpdir(), 'tollgate-cli-home-'));
    try {
      const dev = { base_url: 'http://127.0.0.1:8080', database_url: books.url, temporal_address: '127.0.0.1:1' };
      writeFileSync(join(running, 'dev.json'), JSON.stringify(dev));
      const secrets = { key_peppers: settings['KEY_PEPPERS'], master_keys: settings['MASTER_KEYS'] };
      const others = { internal_job_token: 'x'.repeat(32), postgres_password: 'x' };
      writeFileSync(join(running, 'secrets.json'), JSON.stringify({ ...secrets, ...others }));
      const env = { TOLLGATE_HOME: running };
      const { project_id } = await json(Project, ['projects', 'create', '--name', 'dev'], { env, run: spawned });
      const { api_key } = await json(Key, ['keys', 'create', '--project', project_id], { env });
      const keys = createKeyCache(db, testConfig(settings).secrets.keyPeppers, 1);
      expect(await keys.find(api_key)).toMatchObject({ projectId: project_id });

      // The stored secrets belong to that database. In another one, keys created with them would never be accepted.
      const another = { ...env, DATABASE_URL: `${books.url}?application_name=another` };
      await json(Refusal, ['keys', 'create', '--project', project_id], { code: 2, env: another });
    } finally {
      rmSync(running, { recursive: true, force: true });
    }
  });
});

interface Owner {
  projectId: string;
  keyId: string;
}

/** Creates a project with 1,000 credits and a key, without a process. */
const anOwner = (): Promise<Owner> => createOperator(db, settings).project();
