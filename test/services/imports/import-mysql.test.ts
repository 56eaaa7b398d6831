import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openSource } from '../../../src/db/imports/open-source.ts';
import type { SourceRow } from '../../../src/db/imports/source-database.ts';
import {
  columnNumber,
  columnText,
  integerOf,
  jsonOf,
  secondsOf,
  truthOf,
} from '../../../src/services/imports/source-values.ts';
import { breachesIn } from '../../db/books.ts';
import { commandLine } from '../../support/command-line.ts';
import { createTestHome, type TestHome } from '../../support/home.ts';
import { findMariadb, startMariadb, type Mariadb } from '../../support/mariadb.ts';
import type { TestDatabase } from '../../support/database.ts';
import { fixtures } from './bad-sources.ts';
import { loadPostgres, runSql } from './load-postgres.ts';
import { goBack, sourceRows, spend, type Target } from './way-back.ts';

const dumps = {
  oneapi: 'one-api/one-api.mysql.sql',
  newapi: 'new-api/new-api.mysql.sql',
  odd: 'one-api/odd-values.mysql.sql',
} as const;

const found = findMariadb();
let home: TestHome;
let server: Mariadb | null = null;
const loaded: TestDatabase[] = [];
beforeAll(async () => {
  home = await createTestHome();
  if (!found) return;
  server = await startMariadb(found);
  for (const [name, file] of Object.entries(dumps)) await server.load(name, readFileSync(join(fixtures, file), 'utf8'));
});
afterAll(async () => {
  await server?.close();
  await Promise.all([home, ...loaded].map((each) => each?.drop()));
});
const { done, refused } = commandLine(() => home.settings);

/** The database on the server, else its recorded dump. */
const sourceOf = (name: keyof typeof dumps): string => server?.url(name) ?? join(fixtures, dumps[name]);

describe('a MySQL database', () => {
  it.each([
    ['one-api', 'oneapi', 10],
    ['new-api', 'newapi', 6],
  ] as const)('of %s is imported as the same dump and SQLite file would be, once', async (program, name, keys) => {
    const [theirs, ofDump] = [
      await done('import', program, '--from', sourceOf(name), '--dry-run'),
      await done('import', program, '--from', join(fixtures, dumps[name]), '--dry-run'),
    ];
    expect(theirs).toEqual(ofDump);
    const made = await done('import', program, '--from', sourceOf(name));
    expect(made).toMatchObject({ created: { projects: 5, keys, channels: 6 } });
    const nothing = { projects: 0, keys: 0, channels: 0 };
    const again = await done('import', program, '--from', join(fixtures, dumps[name]));
    expect(again).toMatchObject({ created: nothing, changed: nothing });
    expect(await breachesIn(home.db)).toEqual([]);
  });

  it('keeps every digit of a number, every sign of a text, and times in UTC', async () => {
    const source = await openSource(sourceOf('odd'));
    const columns = [...((await source.tables()).get('odd') ?? [])];
    const rows = await source.rows('odd', columns);
    await source.close();
    expect(rows.map(readOdd).sort((a, b) => Number(a.id) - Number(b.id))).toEqual([
      {
        id: 2n,
        numbers: [9_007_199_254_740_991n, 0n, 1e-7, -0.1],
        truths: [false, false],
        texts: ['line\ntwo\ttab; -- no comment', '', '', 'a'],
        document: [],
        times: [1_748_833_445, 1_748_833_445, null],
      },
      {
        id: 18_446_744_073_709_551_615n,
        numbers: [-9_007_199_254_740_993n, 12_345_678_901_234_567_890n, 1.5, 12_345_678_901_234_567_890.5],
        truths: [true, true],
        texts: ["通义千问 🚀 it's", 'abc', 'é', 'b'],
        document: { a: [1, '"b\\'] },
        times: [1_735_787_045, null, 1_735_787_045],
      },
    ]);
  });
});

describe('what was spent and paid here', () => {
  const onPostgres = async (file: string): Promise<Target> => {
    const database = await loadPostgres(join(fixtures, file));
    loaded.push(database);
    return { from: database.url, run: (statements) => runSql(database.url, [statements]) };
  };
  const onMariadb = (name: keyof typeof dumps): Target[] =>
    server ? [{ from: server.url(name), run: async (statements) => server?.run(name, statements) }] : [];
  const pay = (project: string) =>
    done('credits', 'add', '--project', project, '--amount', '301', '--reference', `paid-${project}`);
  const spentInto = (program: string, target: Target) =>
    goBack(target, (folder) => done('import', program, '--from', target.from, '--spent', folder));

  it.each([
    ['one-api', async () => [...onMariadb('oneapi'), await onPostgres('one-api/one-api.postgres.sql')]],
    ['new-api', async () => [...onMariadb('newapi'), await onPostgres('new-api/new-api.postgres.sql')]],
  ] as const)('is in the tables of %s once its files of SQL ran on each server', async (program, targets) => {
    const project = await spend(home.db, { source: program, project: 'alice', key: 'app', credits: 1_001 });
    await pay(project);
    const [code] = await sourceRows(sourceOf(program === 'one-api' ? 'oneapi' : 'newapi'), 'redemptions', [
      'id',
      'key',
    ]);
    await done('credits', 'redeem', '--project', project, '--code', columnText(code ?? {}, 'key'));
    for (const target of await targets()) {
      const users = async () =>
        (await sourceRows(target.from, 'users', ['id', 'username', 'quota', 'used_quota'])).sort(
          (a, b) => Number(a['id']) - Number(b['id']),
        );
      const before = await users();
      await spentInto(program, target);
      // A credit is half a quota: 501 were spent, 150 paid, and 100,000 are the code.
      const moved = ({ quota, used_quota: used, ...row }: SourceRow) =>
        row['username'] === 'alice'
          ? { ...row, quota: Number(quota) + 150 + 100_000 - 501, used_quota: Number(used) + 501 }
          : { ...row, quota, used_quota: used };
      expect(await users()).toEqual(before.map(moved));
      const codes = await sourceRows(target.from, 'redemptions', ['id', 'status']);
      expect(codes.filter(({ status }) => status === 3)).toEqual([{ id: code?.['id'], status: 3 }]);
    }
  });

  it('is in the tables of LiteLLM, in US dollars', async () => {
    const target = await onPostgres('litellm/litellm.sql.gz');
    await done('import', 'litellm', '--from', target.from);
    await pay(await spend(home.db, { source: 'litellm', project: 'Search', key: 'team', credits: 1_001 }));
    await spentInto('litellm', target);
    const teams = await sourceRows(target.from, 'LiteLLM_TeamTable', ['team_alias', 'spend', 'max_budget']);
    expect(teams).toContainEqual({
      team_alias: 'Search',
      spend: expect.closeTo(12.346679, 9),
      max_budget: expect.closeTo(100.000301, 9),
    });
    const keys = await sourceRows(target.from, 'LiteLLM_VerificationToken', ['key_alias', 'spend']);
    expect(keys).toContainEqual({ key_alias: 'team', spend: expect.closeTo(4.001001, 9) });
  });
});

const readOdd = (row: SourceRow) => ({
  id: integerOf(row, 'id'),
  numbers: [integerOf(row, 'below'), integerOf(row, 'amount'), columnNumber(row, 'ratio'), columnNumber(row, 'amount')],
  truths: [truthOf(row, 'truth'), truthOf(row, 'bits')],
  texts: ['name', 'bytes', 'old', 'word'].map((column) => columnText(row, column)),
  document: jsonOf(row['document']),
  times: ['at', 'zero', 'stamp'].map((column) => secondsOf(row[column])),
});

(found ? describe : describe.skip)('a MySQL server', () => {
  const url = (database: string, user?: string): string => server?.url(database, user) ?? '';

  it('is read as it was when the import began', async () => {
    const source = await openSource(url('odd'));
    const before = await source.count('odd');
    await server?.load('other', 'insert into odd.odd (id) values (3)');
    expect((await source.rows('odd', ['id'])).length).toBe(before);
    await source.close();
  });

  it.each([
    ['refuses the password', () => url('oneapi', 'import:wrong'), 'cannot be opened: Access denied'],
    ['demands TLS', () => url('oneapi').replace('skip-verify', 'false'), 'cannot be opened: Access denied'],
    ['has a certificate of no authority', () => url('oneapi').replace('skip-verify', 'true'), 'certificate'],
    ['lacks the database', () => url('none'), "Unknown database 'none'"],
    ['is another program', () => url('odd'), 'lacks the table users'],
    ['is not named with a database', () => url(''), 'does not name a database'],
    ['has a password that is not encoded', () => 'mysql://import:p@ss/w:rd#?@127.0.0.1/oneapi', 'Encode the signs'],
    ['has a word for TLS that is none', () => url('oneapi').replace('skip-verify', 'maybe'), 'tls=maybe'],
    ['does not listen', () => 'mysql://import:secret@127.0.0.1:1/oneapi', 'ECONNREFUSED'],
  ])('that %s is named in one sentence without the password', async (_name, from, reason) => {
    const message = await refused('import', 'one-api', '--from', from());
    expect(message).toContain(reason);
    expect(message).toContain('Nothing was imported.');
    expect(message).not.toMatch(/w:rd|secret|wrong|\n/);
  });
});
