import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Database } from '../../../src/db/database.ts';
import { breachesIn, rowsOf } from '../../db/books.ts';
import { commandLine } from '../../support/command-line.ts';
import { createTestHome, type TestHome } from '../../support/home.ts';
import { projectFolder } from '../../support/program.ts';

const fixtures = join(projectFolder, 'test/services/imports/fixtures');
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
  await home?.drop();
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

  it.each(['one-api.mysql.sql', 'one-api.postgres.sql'])('refuses half of %s and writes nothing', async (name) => {
    const path = join(folder, name);
    const text = readFileSync(join(fixtures, 'one-api', name), 'utf8');
    writeFileSync(path, text.slice(0, text.length * 0.7));
    expect(await refused('import', 'one-api', '--from', path)).toContain('is cut off');
    expect(await projects()).toEqual([]);
  });
});

describe('a bad source', () => {
  it.each([
    ['of the other program', 'new-api', () => oneApi, 'is of one-api, not of new-api'],
    ['without a table', 'one-api', () => changed('table', 'drop table tokens'), 'lacks the table tokens'],
    ['of another version', 'one-api', () => changed('column', 'alter table users drop column quota'), 'users.quota'],
    ['that is missing', 'one-api', () => join(folder, 'nothing.db'), 'cannot be read'],
    ['that is no database', 'litellm', () => join(fixtures, 'fill-one-api.mjs'), 'import'],
  ])('%s is named, and nothing is written', async (_name, program, path, reason) => {
    const { code, printed } = await tollgate('import', program, '--from', path());
    expect({ code, message: JSON.stringify(printed) }).toEqual({ code: 1, message: expect.stringContaining(reason) });
    expect(await projects()).toEqual([]);
  });

  it('that is half a SQLite file is named, and nothing is written', async () => {
    const path = join(folder, 'half.db');
    const bytes = readFileSync(oneApi);
    writeFileSync(path, bytes.subarray(0, bytes.length / 2));
    expect(await refused('import', 'one-api', '--from', path)).toContain('damaged or cut off');
    expect(await projects()).toEqual([]);
  });

  it.each([
    [
      'a quota beyond the exact range',
      `update users set quota = 9000000000000000000 where username = 'bob'`,
      'user 3 (bob)',
    ],
    [
      'two tokens with one secret',
      `drop index idx_tokens_key; update tokens set key = (select key from tokens where id = 2) where id = 5`,
      'has the same secret as',
    ],
  ])('with %s is refused whole, unless the record is skipped', async (name, statement, reason) => {
    const path = changed(name.slice(0, 5).trim(), statement);
    const { code, printed } = await tollgate('import', 'one-api', '--from', path);
    expect({ code, printed: JSON.stringify(printed) }).toEqual({ code: 1, printed: expect.stringContaining(reason) });
    expect(await projects()).toEqual([]);
    expect(await done('import', 'one-api', '--from', path, '--dry-run', '--skip-refused')).toMatchObject({
      created: { channels: 6 },
    });
  });

  it('with a negative quota makes a project that owes, and a channel of an unknown type is named', async () => {
    const path = changed('negative', `update users set quota = -500 where username = 'bob'`);
    const made = await done('import', 'one-api', '--from', path, '--as', 'negative');
    expect(JSON.stringify(made['notices'])).toContain('user 3 (bob)');
    expect(JSON.stringify(made['notices'])).toContain('is of type 15');
    expect(
      await rowsOf(
        db,
        `select a.balance from credit_account a join project p on p.id = a.project_id where p.name = 'bob'`,
      ),
    ).toEqual([{ balance: -1_000 }]);
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
    expect(await breachesIn(db)).toEqual([]);
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

  it('writes drafts that the check of a catalog accepts', async () => {
    const report = join(folder, 'report.md');
    await done('import', 'one-api', '--from', oneApi, '--as', 'moved', '--report', report);
    const drafts = join(folder, 'report-drafts');
    expect(readFileSync(report, 'utf8')).toContain('log entries');
    expect(await done('catalog', 'check', join(drafts, 'catalog.yaml'))).toBeDefined();
    expect(readFileSync(join(drafts, 'plans/vip.yaml'), 'utf8')).toContain('multiplier: 0.8');
  });
});
