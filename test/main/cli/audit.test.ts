import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Database } from '../../../src/db/database.ts';
import { picture } from '../../../packages/sandbox/src/picture.ts';
import { loadCatalog } from '../../../src/services/catalog/load-catalog.ts';
import { allActions } from '../../../src/admin/table.ts';
import { admitted, attemptEndedOk, newTask, openLedger, rowsOf, run, taskEnd } from '../../db/books.ts';
import { commandLine } from '../../support/command-line.ts';
import { createTestHome, type TestHome } from '../../support/home.ts';
import { projectFolder } from '../../support/program.ts';

let home: TestHome;
let db: Database;
/** The ids that the commands below name. */
const ids = {
  project: '',
  secretOf: '',
  key: '',
  spare: '',
  channel: '',
  open: '',
  charged: '',
  unknown: '',
  failed: '',
  picture: '',
  rules: '',
  entry: '',
  token: '',
  silence: '',
  operator: '',
};

beforeAll(async () => {
  home = await createTestHome({ FILES_LOCAL_DIR: join(projectFolder, '.tollgate') });
  db = home.db;
  const { done } = commandLine(() => home.settings);
  ids.project = String((await done('projects', 'create', '--name', 'audited'))['project_id']);
  ids.secretOf = String((await done('projects', 'create', '--name', 'rotated'))['project_id']);
  await done('credits', 'add', '--project', ids.project, '--amount', '1000', '--reference', 'first');
  ids.key = String((await done('keys', 'create', '--project', ids.project))['key_id']);
  ids.spare = String((await done('keys', 'create', '--project', ids.project))['key_id']);
  ids.channel = String((await done(...newChannel('first')))['channel_id']);
  ids.token = String((await done('admin-tokens', 'create', '--role', 'viewer'))['token_id']);
  ids.silence = String((await done(...newSilence))['silence_id']);
  ids.operator = String((await done(...newOperator('first')))['operator_id']);

  const ledger = openLedger(db);
  const book = { projectId: ids.project, keyId: ids.key };
  const url = { callbackUrl: 'https://hooks.example/end' };
  ids.open = (await admitted(ledger, newTask(book, 10))).taskId;
  ids.charged = (await admitted(ledger, newTask(book, 10, url))).taskId;
  await attemptEndedOk(db, ids.charged);
  await ledger.finishTask(taskEnd(ids.charged, 'succeeded'));
  ids.unknown = (await admitted(ledger, newTask(book, 10))).taskId;
  await ledger.finishTask({ ...taskEnd(ids.unknown, 'failed'), outcomeUnknown: true });
  ids.failed = (await admitted(ledger, newTask(book, 10))).taskId;
  await ledger.finishTask(taskEnd(ids.failed, 'failed'));
  await run(
    db,
    `insert into held_grant (source, external_id, code_digest, name, credits) values ('one-api', '1', sha256('a-code'), 'code', 5)`,
  );
  ids.rules = join(tmpdir(), `tollgate-audit-rules-${process.pid}.json`);
  writeFileSync(ids.rules, JSON.stringify([{ models: '*', multiplier: 2 }]));
  await done(...newPlan('first'));
  writeFileSync(ids.rules, JSON.stringify([{ models: '*', multiplier: 3 }]));
  const aurora = (await loadCatalog('catalog')).entries.find(({ model }) => model.id === 'aurora-image-1');
  ids.entry = join(tmpdir(), `tollgate-audit-entry-${process.pid}.json`);
  const { model, private: hidden } = aurora ?? {};
  writeFileSync(ids.entry, JSON.stringify({ ...model, display_name: 'Aurora', private: hidden }));
  ids.picture = join(tmpdir(), `tollgate-audit-${process.pid}.png`);
  writeFileSync(ids.picture, await picture({ width: 8, height: 8, seed: 1 }));
});
afterAll(async () => {
  rmSync(ids.picture, { force: true });
  rmSync(ids.rules, { force: true });
  rmSync(ids.entry, { force: true });
  await home?.drop();
});
afterEach(() => run(db, 'drop trigger if exists test_refuse_audit on audit_entry'));

const newChannel = (name: string) => [
  'channels',
  'add',
  '--name',
  name,
  '--adapter',
  'fal',
  '--base-url',
  'https://upstream.example',
  '--credential',
  'fal-secret',
  '--groups',
  'images',
];

const newSilence = [
  'alarms',
  'silence',
  'account',
  '--subject',
  'first',
  '--for',
  '2h',
  '--reason',
  'the invoice is paid',
];

const newOperator = (subject: string) => [
  'operators',
  'add',
  '--issuer',
  'https://id.example.com',
  '--subject',
  subject,
  '--role',
  'viewer',
  '--name',
  'Grace',
];

const newPlan = (name: string): string[] => ['plans', 'create', '--name', name, '--rules', ids.rules];

/** Every command that changes something, in an order in which each has something to change. */
const changes: Record<string, () => string[]> = {
  'projects.create': () => ['projects', 'create', '--name', 'another'],
  'projects.secret.rotate': () => ['projects', 'secret', 'rotate', ids.secretOf],
  'projects.set': () => ['projects', 'set', ids.project, '--overdraft', '7'],
  'projects.disable': () => ['projects', 'disable', ids.secretOf],
  'projects.enable': () => ['projects', 'enable', ids.secretOf],
  'keys.create': () => ['keys', 'create', '--project', ids.project, '--expires', '30d'],
  'keys.set': () => ['keys', 'set', ids.key, '--rpm', '7', '--expires', '30d'],
  'keys.rotate': () => ['keys', 'rotate', ids.key],
  'keys.revoke': () => ['keys', 'revoke', ids.spare],
  'credits.add': () => ['credits', 'add', '--project', ids.project, '--amount', '5', '--reference', 'second'],
  'credits.redeem': () => ['credits', 'redeem', '--project', ids.project, '--code', 'a-code'],
  'credits.deduct': () => [
    'credits',
    'deduct',
    '--project',
    ids.project,
    '--amount',
    '5',
    '--reference',
    'chargeback 1',
    '--reason',
    'the bank took it back',
  ],
  'plans.create': () => newPlan('second'),
  'plans.set': () => ['plans', 'set', 'first', '--rules', ids.rules],
  'plans.delete': () => ['plans', 'delete', 'second'],
  'credits.adjust': () => ['credits', 'adjust', '--task', ids.charged, '--reason', 'too dark', '--amount', '3'],
  'channels.add': () => newChannel('second'),
  'channels.set': () => ['channels', 'set', ids.channel, '--weight', '9', '--credential', 'another-secret'],
  'channels.disable': () => ['channels', 'disable', ids.channel],
  'channels.enable': () => ['channels', 'enable', ids.channel],
  'catalog.apply': () => ['catalog', 'apply', join(projectFolder, 'catalog')],
  'catalog.set': () => ['catalog', 'set', 'aurora-image-1', '--entry', ids.entry],
  'tasks.resolve': () => ['tasks', 'resolve', ids.unknown, '--outcome', 'bought', '--reference', 'invoice 1'],
  'tasks.adopt': () => ['tasks', 'adopt', ids.failed, '--result', ids.picture],
  'tasks.cancel': () => ['tasks', 'cancel', ids.open],
  'tasks.redeliver': () => ['tasks', 'redeliver', ids.charged],
  'secrets.reseal': () => ['secrets', 'reseal'],
  'jobs.run': () => ['jobs', 'run', 'check-api-channels'],
  'alarms.silence': () => newSilence,
  'alarms.unsilence': () => ['alarms', 'unsilence', ids.silence],
  'admin_tokens.create': () => ['admin-tokens', 'create', '--role', 'operator', '--name', 'Grace'],
  'operators.add': () => newOperator('second'),
  'operators.remove': () => ['operators', 'remove', ids.operator],
  'admin_tokens.revoke': () => ['admin-tokens', 'revoke', ids.token],
};

/** The actions that are no GET, because they call a provider or take a body, and change nothing of an operator's. */
const unchanging = [
  'catalog check',
  'channels probe',
  'channels test',
  'channels verify',
  'ledger verify',
  'webhooks send-test',
];

const newMasterKey = `k2:${randomBytes(32).toString('base64')}`;
/** Only the reseal uses the new key as the first one. */
const settingsFor = (action: string) => {
  const old = home.settings['MASTER_KEYS'] ?? '';
  return {
    ...home.settings,
    MASTER_KEYS: action === 'secrets.reseal' ? `${newMasterKey},${old}` : `${old},${newMasterKey}`,
  };
};

/** A digest of every row of every table. */
async function stateOf(): Promise<Record<string, string>> {
  const tables = await rowsOf<{ name: string }>(
    db,
    `select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
  );
  const digests = tables.map(async ({ name }): Promise<[string, string]> => {
    const text = `select md5(coalesce(string_agg(t::text, ',' order by t::text), '')) as digest from "${name}" t`;
    return [name, (await rowsOf<{ digest: string }>(db, text))[0]?.digest ?? ''];
  });
  return Object.fromEntries(await Promise.all(digests));
}

interface Entry {
  actor: string;
  action: string;
  subject: string;
  before: object | null;
  after: object | null;
}

const entries = () =>
  rowsOf<Entry>(db, 'select actor, action, subject, before, after, detail from audit_entry order by id');
/** What no entry may show: credentials, and keys, tokens and callback secrets in full. */
const secret = /fal-secret|another-secret|sk-\w{12}|adm_\w{12}|whsec_/;

describe('a change by an operator', () => {
  it('is a row of the table below for every action that changes something', () => {
    const changing = allActions().flatMap(({ name, action: { route } }) =>
      'local' in route || route.method === 'GET' || unchanging.includes(name) ? [] : [name],
    );
    const actions = changing.map((name) => name.replaceAll(' ', '.').replaceAll('-', '_'));
    expect(Object.keys(changes).sort()).toEqual(actions.sort());
  });

  it.each(Object.keys(changes))('is committed with its audit entry or not at all: %s', async (action) => {
    const { tollgate } = commandLine(() => settingsFor(action));
    const command = [...(changes[action]?.() ?? []), '--actor', 'Ada Lovelace'];
    const before = await stateOf();
    await run(
      db,
      `create or replace function test_refuse_audit() returns trigger language plpgsql
         as 'begin raise exception ''the audit log is full''; end'`,
    );
    await run(
      db,
      'create trigger test_refuse_audit before insert on audit_entry for each row execute function test_refuse_audit()',
    );
    const { code } = await tollgate(...command);
    expect({ code, state: await stateOf() }).toEqual({ code: 1, state: before });

    await run(db, 'drop trigger test_refuse_audit on audit_entry');
    const entriesBefore = (await entries()).length;
    expect(await tollgate(...command)).toMatchObject({ code: 0 });
    const added = (await entries()).slice(entriesBefore);
    expect(added.length).toBeGreaterThan(0);
    for (const entry of added) {
      expect(entry).toMatchObject({ actor: 'Ada Lovelace', action, subject: expect.stringMatching(/./) });
      expect(Object.keys({ ...entry.before, ...entry.after })).not.toEqual([]);
      expect(entry.before).not.toEqual(entry.after);
      expect(JSON.stringify(entry)).not.toMatch(secret);
    }
    expect(await stateOf()).not.toEqual(before);
  });

  it('is refused with exit code 2 if the name of the operator does not fit into a line', async () => {
    const { tollgate } = commandLine(() => home.settings);
    for (const name of ['', 'two\nlines', 'x'.repeat(101)]) {
      const { code, printed } = await tollgate('projects', 'create', '--name', 'unnamed', '--actor', name);
      expect({ code, printed }).toEqual({
        code: 2,
        printed: { error: { message: expect.stringContaining('--actor') } },
      });
    }
  });
});

describe('an audit entry', () => {
  it('can be neither changed nor deleted', async () => {
    const before = await entries();
    for (const statement of [
      `update audit_entry set actor = 'nobody'`,
      'delete from audit_entry',
      'truncate audit_entry',
      'truncate project, audit_entry cascade',
    ]) {
      await expect(run(db, statement)).rejects.toThrow('only ever added');
    }
    expect(await entries()).toEqual(before);
  });
});
