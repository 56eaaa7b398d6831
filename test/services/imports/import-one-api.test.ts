import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createKeyCache } from '../../../src/caches/key-cache.ts';
import type { Database } from '../../../src/db/database.ts';
import { breachesIn, rowsOf } from '../../db/books.ts';
import { commandLine } from '../../support/command-line.ts';
import { createTestHome, type TestHome } from '../../support/home.ts';
import { projectFolder } from '../../support/program.ts';
import { testConfig } from '../../support/test-config.ts';

const fixture = (program: string): string =>
  join(projectFolder, 'test/services/imports/fixtures', program, `${program}.db`);

let home: TestHome;
let db: Database;

const { tollgate, done } = commandLine(() => home.settings);
const find = (secret: string) => createKeyCache(db, testConfig(home.settings).secrets.keyPeppers, 1).find(secret);

describe.each([
  ['one-api', 10],
  ['new-api', 6],
] as const)('the import of a database that %s wrote', (program, keys) => {
  const created = { projects: 5, keys, channels: 6 };
  beforeAll(async () => {
    home = await createTestHome();
    db = home.db;
  });
  afterAll(() => home?.drop());
  const before = readFileSync(fixture(program));

  it('says in a dry run what it would make, and writes nothing', async () => {
    const printed = await done('import', program, '--from', fixture(program), '--dry-run');
    expect(printed).toMatchObject({ dry_run: true, created });
    expect(await rowsOf(db, 'select id from project')).toEqual([]);
    expect(await rowsOf(db, 'select id from audit_entry')).toEqual([]);
  });

  it('makes each user a project with the credits of its quota, and each token a key with its old secret', async () => {
    const made = await done('import', program, '--from', fixture(program));
    expect(made).toMatchObject({ created });
    const theirs = new DatabaseSync(fixture(program), { readOnly: true });
    const users = theirs.prepare('select username, quota, status from users').all();
    for (const { username, quota, status } of users)
      expect(
        await rowsOf(
          db,
          'select p.status, a.balance from project p join credit_account a on a.project_id = p.id where p.name = $1',
          [username],
        ),
      ).toEqual([{ status: status === 1 ? 'active' : 'disabled', balance: Number(quota) * 2 }]);
    const tokens = theirs
      .prepare('select t.key, t.status, u.status as user_status from tokens t join users u on u.id = t.user_id')
      .all();
    for (const { key, status, user_status: userStatus } of tokens)
      for (const secret of [`sk-${String(key)}`, String(key)])
        expect((await find(secret)) !== null).toBe(status === 1 && userStatus === 1);
    expect(await breachesIn(db)).toEqual([]);
    expect(readFileSync(fixture(program)).equals(before)).toBe(true);
  });

  it('finds nothing to do in a second run', async () => {
    const { code, printed } = await tollgate('import', program, '--from', fixture(program));
    expect({ code, printed }).toMatchObject({
      code: 0,
      printed: {
        created: { projects: 0, keys: 0, channels: 0 },
        changed: { projects: 0, keys: 0, channels: 0 },
      },
    });
  });
});
