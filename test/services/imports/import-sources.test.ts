import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { z } from 'zod';
import type { Database } from '../../../src/db/database.ts';
import { breachesIn, rowsOf } from '../../db/books.ts';
import { commandLine } from '../../support/command-line.ts';
import { createTestHome, type TestHome } from '../../support/home.ts';
import { cli } from '../../../src/main/cli.ts';
import { importPrograms } from '../../../src/domain/imports/imported.ts';
import { readInstallation } from '../../../src/services/imports/run-import.ts';
import { OperatorError } from '../../../src/services/operator-error.ts';
import { faultsOf, fixtures, servers, sources, type Source } from './bad-sources.ts';

/** The largest whose credits are exact. */
const exactQuota = 4_503_599_627_370_495;
const oneApi = join(fixtures, 'one-api/one-api.db');

let home: TestHome;
let db: Database;
let folder: string;
beforeAll(async () => {
  home = await createTestHome();
  db = home.db;
  folder = mkdtempSync(join(tmpdir(), 'tollgate-import-'));
});
afterAll(async () => {
  await Promise.all([home?.drop(), ...servers.map(({ drop }) => drop())]);
  rmSync(folder, { recursive: true, force: true });
});

const { tollgate, done, refused } = commandLine(() => home.settings);

/** A copy of the database of one-api, after a change. */
function changed(name: string, statement: string): string {
  const path = join(folder, `${name}.db`);
  copyFileSync(oneApi, path);
  const database = new DatabaseSync(path);
  database.exec(statement);
  database.close();
  return path;
}

const projects = () => rowsOf(db, 'select id from project');
const balanceOf = async (project: string): Promise<number> =>
  Number((await done('credits', 'show', '--project', project))['balance']);

describe('the import of a dump', () => {
  it.each(['one-api.mysql.sql', 'one-api.postgres.sql'])('finds in %s what the program wrote', async (name) => {
    const found = await done('import', 'one-api', '--from', join(fixtures, 'one-api', name), '--dry-run');
    expect(found).toMatchObject({
      created: { projects: 5, keys: 10, channels: 6 },
      redemptions: { codes: 2, credits: 400_000 },
      credits: { owed: 0 },
    });
  });
});

const written = (): Promise<unknown[]> =>
  rowsOf(
    db,
    `select 1 from project union all select 1 from api_key union all select 1 from channel union all select 1 from import_item
     union all select 1 from held_grant`,
  );

const env = { TEAM_ANTHROPIC_KEY: 'sk-ant-team' };
/** What an import would say of a source, and whether it would be refused. */
async function reading(program: Source['program'], from: string): Promise<{ isRefused: boolean; message: string }> {
  try {
    const { notices, leftOut } = await readInstallation({ program, from, env }, 1);
    const isRefused = notices.some(({ kind }) => kind === 'refused');
    return { isRefused, message: JSON.stringify([...notices, ...leftOut]) };
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    return { isRefused: true, message: error.message };
  }
}

describe.each(sources)('$name', (source) => {
  it.each(faultsOf(source))('with $name is named', async ({ change, says, refused: isRefused }) => {
    const from = await source.changed(folder, change);
    expect(await reading(source.program, from)).toEqual({ isRefused, message: expect.stringContaining(says) });
  });

  it('is not taken for that of another program', async () => {
    const from = await source.changed(folder, { add: '' });
    for (const program of importPrograms.filter((other) => other !== source.program))
      expect((await reading(program, from)).message).toMatch(/is of (one|new)-api|lacks the table/);
  });

  it('that cannot be read, or has a record that is refused, is not imported in part', async () => {
    const faults = faultsOf(source).filter((fault) => fault.refused);
    for (const { change, says } of [faults[0], faults.at(-1)].filter((fault) => fault !== undefined)) {
      const { code, printed } = await tollgate(
        'import',
        source.program,
        '--from',
        await source.changed(folder, change),
      );
      expect({ code, message: JSON.stringify(printed) }).toEqual({ code: 1, message: expect.stringContaining(says) });
      expect(await written()).toEqual([]);
    }
  });
});

describe('config.yaml of LiteLLM', () => {
  const text = readFileSync(join(fixtures, 'litellm/config.yaml'), 'utf8');
  it.each([
    ['without its list, as of another program', text.replace('model_list:', 'models:'), 'has no model_list', true],
    ['that ends inside a line', text.slice(0, text.indexOf('/claude-sonnet-4')), 'it may be cut off', false],
    ['that ends inside a word in quotes', `${text}  x: "sk-`, 'it may be cut off', true],
    ['that ends before a model', `${text.split('      model: azure')[0]}      x: 1\n`, 'litellm_params.model', true],
    ['with a negative limit', text.replace('rpm: 500', 'rpm: -500'), 'has -500 as rpm', false],
    ['with a negative price', text.replace('0.000003', '-1'), 'has a price beyond', false],
    ['with a price beyond the exact range', text.replace('0.000003', '1e300'), 'has a price beyond', false],
    ['with an unknown provider', text.replaceAll('hosted_vllm/', 'unheard/'), 'is of the provider unheard', false],
  ])('%s is named', async (_name, changedText, says, isRefused) => {
    const from = join(folder, 'config.yaml');
    writeFileSync(from, changedText);
    expect(await reading('litellm', from)).toEqual({ isRefused, message: expect.stringContaining(says) });
  });
});

describe('a bad source', () => {
  it.each([
    ['that is missing', 'one-api', () => join(folder, 'nothing.db'), 'cannot be read'],
    ['that is no database', 'litellm', () => join(fixtures, 'fill-one-api.mjs'), 'import'],
  ])('%s is named, and nothing is written', async (_name, program, path, reason) => {
    expect(await refused('import', program, '--from', path())).toContain(reason);
    expect(await written()).toEqual([]);
  });

  it('with quotas whose sum is beyond the exact range is summed up with all its digits', async () => {
    const path = changed(
      'sums',
      `update users set quota = ${exactQuota} where username in ('alice', 'bob'); update redemptions set quota = ${exactQuota}`,
    );
    const theirs = new DatabaseSync(path, { readOnly: true });
    const sum = theirs.prepare('select cast(sum(quota) as text) as quota from users').get();
    theirs.close();
    const balances = (BigInt(String(sum?.['quota'])) * 2n).toString();
    const owed = changed(
      'debts',
      `update users set quota = -${exactQuota} where username in ('alice', 'bob', 'carol')`,
    );
    expect(await done('import', 'one-api', '--from', path, '--dry-run')).toMatchObject({
      credits: { balances },
      redemptions: { credits: (BigInt(exactQuota) * 4n).toString() },
    });
    expect(await done('import', 'one-api', '--from', owed, '--dry-run')).toMatchObject({
      credits: { owed: (BigInt(exactQuota) * 6n).toString() },
    });
    const written: string[] = [];
    await cli(['import', 'one-api', '--from', path, '--dry-run'], home.settings, (text) => written.push(text));
    expect(written.join('')).toMatch(new RegExp(`balances +${balances}\\n`));
  });

  it('is imported without the records that are refused, if they are skipped', async () => {
    const path = changed('skipped', `update users set quota = 9000000000000000000 where username = 'bob'`);
    expect(await done('import', 'one-api', '--from', path, '--dry-run', '--skip-refused')).toMatchObject({
      created: { projects: 4, channels: 6 },
    });
    const report = join(folder, 'refused.md');
    await cli(['import', 'one-api', '--from', path, '--report', report], home.settings, () => undefined);
    expect(readFileSync(report, 'utf8')).toMatch(/^Nothing was imported, because records are refused\./);
  });

  it('with a negative quota makes a project that owes, and texts and times that PostgreSQL lacks become the nearest ones', async () => {
    const path = changed(
      'negative',
      `update users set quota = -500, display_name = '${'x'.repeat(499)}🚀' where username = 'bob';
       update users set username = 'ca' || char(0) || '${'r'.repeat(197)}🚀' where username = 'carol';
       update tokens set expired_time = 99999999999999 where name = 'little';`,
    );
    await done('import', 'one-api', '--from', path, '--as', 'negative');
    expect(
      await rowsOf(
        db,
        `select a.balance, p.metadata ->> 'display_name' as shown from credit_account a join project p on p.id = a.project_id
         where p.name = 'bob'`,
      ),
    ).toEqual([{ balance: -1_000, shown: `${'x'.repeat(499)}\ufffd` }]);
    const [little] = await rowsOf(
      db,
      `select p.name, k.expires_at from api_key k join project p on p.id = k.project_id where k.name = 'little'`,
    );
    expect(little).toEqual({ name: `ca${'r'.repeat(197)}\ufffd`, expiresAt: new Date('9999-12-31T23:59:59Z') });
    expect(await breachesIn(db)).toEqual([]);
  });
});

describe('another import', () => {
  it('moves only what changed there: credits, budgets, limits, states and new tokens', async () => {
    await rowsOf(db, 'delete from api_key_secret');
    const first = changed('first', `select 1`);
    await done('import', 'one-api', '--from', first, '--as', 'moved');
    const second = changed(
      'second',
      `update users set quota = quota - 1000, status = 2 where username = 'alice';
       update tokens set remain_quota = 400000, subnet = '10.0.0.0/8' where name = 'app';
       update channels set priority = 20 where name = 'anthropic';
       insert into tokens (id, user_id, key, status, name, expired_time, remain_quota, unlimited_quota)
       values (99, 3, 'newTokenOfTheLastHour0123456789abcdefghijklmnopq', 1, 'new', -1, 0, 1)`,
    );
    expect(await done('import', 'one-api', '--from', second, '--as', 'moved')).toMatchObject({
      created: { projects: 0, keys: 1, channels: 0 },
      changed: { projects: 1, keys: 1 },
    });
    expect(
      await rowsOf(
        db,
        `select e.kind, e.credits, e.reference from ledger_entry e join import_item i on i.internal_id = e.project_id
         where i.source = 'moved' and i.external_id = '2' and i.kind = 'project' order by e.id`,
      ),
    ).toEqual([
      { kind: 'topup', credits: 9_982_000, reference: 'import:moved:2' },
      { kind: 'deduct', credits: -2_000, reference: 'import:moved:2:2' },
    ]);
    expect(
      await rowsOf(
        db,
        `select k.budget, k.ip_ranges from api_key k join import_item i on i.internal_id = k.id where i.source = 'moved' and k.name = 'app'`,
      ),
    ).toEqual([{ budget: 800_000, ipRanges: ['10.0.0.0/8'] }]);
    const nothing = { projects: 0, keys: 0, channels: 0 };
    expect(await done('import', 'one-api', '--from', second, '--as', 'moved')).toMatchObject({
      created: nothing,
      changed: nothing,
    });
    // An operator lets the key spend without one.
    await rowsOf(db, `update api_key set budget = null where name = 'app'`);
    const third = changed('third', `update tokens set remain_quota = 300000 where name = 'app'`);
    await done('import', 'one-api', '--from', third, '--as', 'moved');
    expect(await rowsOf(db, `select distinct budget from api_key where name = 'app'`)).toEqual([{ budget: null }]);
    expect(await breachesIn(db)).toEqual([]);
  });

  it('replaces the key of a channel by a new one, and keeps no key twice that moves up', async () => {
    const imported = async (keys: string[]): Promise<unknown[]> => {
      const key = keys.join(`' || char(10) || '`);
      const from = changed(keys.join('-'), `update channels set key = '${key}' where name = 'anthropic'`);
      await done('import', 'one-api', '--from', from, '--as', 'rotated');
      const rows = await rowsOf(
        db,
        `select distinct k.last4 from import_item i join channel_credential k on k.channel_id = i.internal_id
         where i.source = 'rotated' and i.kind = 'channel' and k.last4 in ('aaaa', 'bbbb', 'cccc', 'dddd') order by 1`,
      );
      return rows.map(({ last4 }) => last4);
    };
    await rowsOf(db, 'delete from api_key_secret');
    await imported(['key-aaaa']);
    expect(await imported(['key-bbbb', 'key-cccc'])).toEqual(['bbbb', 'cccc']);
    expect(await imported(['key-cccc'])).toEqual(['bbbb', 'cccc']);
    expect(await imported(['key-cccc', 'key-dddd'])).toEqual(['bbbb', 'cccc', 'dddd']);
  });

  it('holds each redemption code until a project gets its credits, once', async () => {
    await rowsOf(db, 'delete from held_grant');
    const source = changed('codes', `update redemptions set quota = quota + id`);
    await done('import', 'one-api', '--from', source, '--as', 'moved');
    const theirs = new DatabaseSync(source, { readOnly: true });
    const [code = '', other = ''] = theirs
      .prepare('select key from redemptions order by id')
      .all()
      .map(({ key }) => String(key));
    theirs.close();
    const [project = '', second = ''] = (await projects()).map(({ id }) => String(id));
    expect(await refused('credits', 'redeem', '--project', project, '--code', 'unknown')).toContain('No unspent');
    const before = await balanceOf(project);
    for (const _again of [1, 2]) await done('credits', 'redeem', '--project', project, '--code', code);
    expect((await balanceOf(project)) - before).toBe(200_002);
    expect(await refused('credits', 'redeem', '--project', second, '--code', code)).toContain(project);
    expect(
      await rowsOf(db, `select credits, reference from ledger_entry where reference like 'import:moved:redemption:%'`),
    ).toEqual([{ credits: 200_002, reference: 'import:moved:redemption:1' }]);
    const used = changed('used', `update redemptions set status = 3`);
    await done('import', 'one-api', '--from', used, '--as', 'moved');
    expect(await refused('credits', 'redeem', '--project', project, '--code', other)).toContain('No unspent');
    expect(await rowsOf(db, 'select external_id from held_grant')).toEqual([{ externalId: '1' }]);
    expect(await breachesIn(db)).toEqual([]);
  });

  it('makes a draft of each deployment that a model here can have, with its vendor, and names the others', async () => {
    const report = join(folder, 'balanced.json');
    const source = join(fixtures, 'litellm/balanced.yaml');
    const { created, notices } = await done(
      'import',
      'litellm',
      '--from',
      source,
      '--as',
      'balanced',
      '--report',
      report,
    );
    expect(created).toMatchObject({ channels: 4 });
    expect(notices).toEqual([
      {
        kind: 'left_out',
        subject: 'model gpt-4o',
        sentence: expect.stringContaining(
          'is also deployed as gpt-4o-west, with the same provider, address and key as gpt-4o-east',
        ),
      },
      {
        kind: 'check',
        subject: expect.stringContaining('(litellm-azure)'),
        sentence: expect.stringContaining('gpt-4o (here gpt-4o-east, drafted gpt-4o)'),
      },
    ]);
    const channels = await rowsOf<{ groups: string[]; rpm: number }>(
      db,
      `select c.groups, c.rpm from channel c join import_item i on i.internal_id = c.id
       where i.source = 'balanced' and c.base_url like '%openai%' order by rpm, base_url`,
    );
    expect(channels.map(({ rpm }) => rpm)).toEqual([300, 300, 500]);
    const drafts = join(folder, 'balanced-drafts/catalog.yaml');
    const ownGroups = channels.flatMap(({ groups }) => groups.filter((group) => group !== 'litellm'));
    const drafted = z
      .object({ models: z.array(z.looseObject({ id: z.string(), private: z.json() })) })
      .parse(parse(readFileSync(drafts, 'utf8')));
    expect(drafted.models.map(({ id, private: hidden }) => ({ id, hidden }))).toMatchObject([
      { id: 'gpt-4o', hidden: { upstream: { openai: { model: 'gpt-4o', vendor: 'openai' } } } },
      { id: 'azure-4o', hidden: { upstream: { openai: { model: 'gpt-4o-west' } } } },
      { id: 'deepseek-chat', hidden: { aliases: ['deepseek/chat'], upstream: { openai: { vendor: 'deepseek' } } } },
      {
        id: 'deepseek-chat-2',
        hidden: { aliases: ['deepseek:chat'], upstream: { openai: { model: 'deepseek-reasoner' } } },
      },
    ]);
    expect(JSON.stringify(drafted.models[1])).not.toContain('vendor');
    expect(drafted.models[0]?.private).toMatchObject({ groups: expect.arrayContaining(ownGroups.slice(1)) });
    expect(await done('catalog', 'check', drafts)).toBeDefined();
  });

  it('writes drafts that the check of a catalog accepts', async () => {
    const report = join(folder, 'report.md');
    const source = changed('drafts', `update channels set models = models || ',gpt-5-mini' where name = 'spend'`);
    await done('import', 'one-api', '--from', source, '--as', 'moved', '--report', report);
    const drafts = join(folder, 'report-drafts');
    expect(readFileSync(report, 'utf8')).toContain('log entries');
    expect(await done('catalog', 'check', join(drafts, 'catalog.yaml'))).toBeDefined();
    // A reasoning model of OpenAI refuses the temperature that a request has by default.
    expect(readFileSync(join(drafts, 'catalog.yaml'), 'utf8')).toMatch(/model: gpt-5-mini\n[^]*temperature: null/);
    expect(readFileSync(join(drafts, 'plans/vip.yaml'), 'utf8')).toContain('multiplier: 0.8');
  });
});
