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
import { projectFolder } from '../../support/program.ts';

const fixtures = join(projectFolder, 'test/services/imports/fixtures');
const dumps = {
  oneapi: 'one-api/one-api.mysql.sql',
  newapi: 'new-api/new-api.mysql.sql',
  odd: 'one-api/odd-values.mysql.sql',
} as const;

const found = findMariadb();
let home: TestHome;
let server: Mariadb | null = null;
beforeAll(async () => {
  home = await createTestHome();
  if (!found) return;
  server = await startMariadb(found);
  for (const [name, file] of Object.entries(dumps)) await server.load(name, readFileSync(join(fixtures, file), 'utf8'));
});
afterAll(async () => {
  await server?.close();
  await home?.drop();
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
