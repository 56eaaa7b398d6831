import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { openDatabase, type Database } from '../../../src/db/database.ts';
import { rowsOf } from '../../db/books.ts';
import { commandLine } from '../../support/command-line.ts';
import { patiently } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { createTestHome, type TestHome } from '../../support/home.ts';
import { compileCache, nodeBinary, projectFolder } from '../../support/program.ts';

/** A failed run names its seed. Written here, the seed repeats the kills. */
const seed = randomInt(2 ** 31);
const kills = 10;
const tables = [
  'import_item',
  'project',
  'ledger_entry',
  'api_key',
  'api_key_secret',
  'audit_entry',
  'channel',
  'channel_credential',
] as const;

let undisturbed: TestHome;
let killed: TestHome;
/** Of the owner of the tables. */
let owner: Database;
let source: string;

beforeAll(async () => {
  [undisturbed, killed] = await Promise.all([createTestHome(), createTestHome()]);
  killed.settings = { ...undisturbed.settings, DATABASE_URL: killed.settings['DATABASE_URL'] ?? '' };
  owner = openDatabase({
    // A new trigger waits for a vacuum of its table.
    url: patiently(killed.databaseUrl, 120_000),
    poolMax: 2,
    connectTimeoutMs: 30_000,
    statementTimeoutMs: 120_000,
  });
  source = join(undisturbed.settings['TOLLGATE_HOME'] ?? '', 'many.db');
  copyFileSync(join(projectFolder, 'test/services/imports/fixtures/one-api/one-api.db'), source);
  const database = new DatabaseSync(source);
  database.exec(manyRows);
  database.close();
});
afterAll(async () => {
  await owner?.close();
  await Promise.allSettled([undisturbed?.drop(), killed?.drop()]);
});

/** 240 users, of whom each has 3 tokens, and 8 channels with 3 keys. */
const manyRows = `
  with recursive n(n) as (select 1 union all select n + 1 from n where n < 240)
  insert into users (id, username, password, status, quota, access_token, aff_code)
    select 1000 + n, 'user' || n, 'x', 1, n * 1000, 'access' || n, 'aff' || n from n;
  with recursive n(n) as (select 1 union all select n + 1 from n where n < 720)
  insert into tokens (id, user_id, key, status, name, expired_time, remain_quota, unlimited_quota)
    select 1000 + n, 1001 + n % 240, 'secret' || substr('0000000000000000000000000000000000000000' || n, -40), 1, 'key' || n, -1, n, n % 2 from n;
  with recursive n(n) as (select 1 union all select n + 1 from n where n < 8)
  insert into channels (id, type, key, status, name, models)
    select 1000 + n, 1, 'sk-a' || n || char(10) || 'sk-b' || n || char(10) || 'sk-c' || n, 1, 'many' || n, 'gpt-4o' from n;`;

const first = commandLine(() => undisturbed.settings);
const again = commandLine(() => killed.settings);

describe('an import that is killed', () => {
  it(`at ${kills} random moments and started again ends in the state of an undisturbed one`, async () => {
    await first.done('import', 'one-api', '--from', source);
    const [picks = []] = fc.sample(
      fc.array(fc.tuple(fc.nat(), fc.nat()), { minLength: kills, maxLength: kills, size: 'max' }),
      { seed, numRuns: 1 },
    );
    try {
      for (const [at, [which, where]] of picks.entries()) await killAt(which, where, kills - at);
      await again.done('import', 'one-api', '--from', source);
      expect(await stateOf(killed.db)).toEqual(await stateOf(undisturbed.db));
      const nothing = { projects: 0, keys: 0, channels: 0 };
      const third = await again.done('import', 'one-api', '--from', source);
      expect(third).toMatchObject({ created: nothing, changed: nothing });
      expect(await again.done('ledger', 'verify', '--full')).toMatchObject({ ok: true });
    } catch (cause) {
      throw new Error(`The run with the seed ${seed} failed`, { cause });
    }
  }, 1_200_000);
});

/**
 * Runs an import that waits inside its transaction at a random row of a random table that still lacks rows, and kills it there. It leaves rows for the
 * kills that are left.
 */
async function killAt(which: number, where: number, killsLeft: number): Promise<void> {
  const missing = await Promise.all(
    tables.map(async (table) => ({
      table,
      rows: (await countOf(undisturbed.db, table)) - (await countOf(killed.db, table)),
    })),
  );
  const open = missing.filter(({ rows }) => rows > 0);
  const { table, rows } = open[which % open.length] ?? { table: 'project', rows: 1 };
  const row = 1 + (where % Math.max(1, Math.floor(rows / (killsLeft + 1))));
  await owner.query('', stopAt(table, row));
  const holder = openDatabase({
    url: killed.databaseUrl,
    poolMax: 1,
    connectTimeoutMs: 30_000,
    statementTimeoutMs: 120_000,
  });
  try {
    await holder.query('', 'select pg_advisory_lock(38)');
    const child = spawn(nodeBinary, ['src/main/cli.ts', 'import', 'one-api', '--from', source, '--json'], {
      cwd: projectFolder,
      env: { ...compileCache(), ...killed.settings },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
    const ended = new Promise<string>((resolve) =>
      child.once('exit', (code, signal) => resolve(signal ?? `code ${code}`)),
    );
    const waits = eventually(
      async () => {
        const found = await rowsOf(
          owner,
          `select 1 from pg_locks where locktype = 'advisory' and objid = 38 and not granted
           and database = (select oid from pg_database where datname = current_database())`,
        );
        return found.length > 0;
      },
      { secondsMax: 180, what: 'the import at the lock' },
    );
    await Promise.race([waits, ended]);
    child.kill('SIGKILL');
    await waits.catch(() => undefined);
    expect({ ended: await ended, errors }).toMatchObject({ ended: 'SIGKILL' });
  } finally {
    await holder.close();
    // The backend of the killed process goes on until it notices, and its transaction has locks.
    await eventually(
      async () =>
        (
          await rowsOf(
            owner,
            `select 1 from pg_stat_activity where datname = current_database() and state <> 'idle' and pid <> pg_backend_pid()`,
          )
        ).length === 0,
      { what: 'the end of the killed import in the database' },
    );
    await owner.query('', `drop trigger stop_here on ${table}`);
  }
}

/** A trigger that waits for a lock before the row of this number is written, for as long as the test needs to see it and to kill. */
const stopAt = (table: string, row: number): string => `
  drop sequence if exists rows_seen;
  create sequence rows_seen;
  create or replace function stop_here() returns trigger language plpgsql security definer set lock_timeout = 0 as $$
  begin
    if nextval('rows_seen') = ${row} then perform pg_advisory_xact_lock_shared(38); end if;
    return new;
  end $$;
  create trigger stop_here before insert on ${table} for each row execute function stop_here()`;

const countOf = async (db: Database, table: string): Promise<number> =>
  Number((await rowsOf<{ n: number }>(db, `select count(*)::int as n from ${table}`))[0]?.n);

/** All that an import writes, without ids and times of its own. */
const stateOf = (db: Database) =>
  Promise.all(
    [
      `select i.external_id, p.name, p.status, p.metadata, a.balance, a.reserved, a.overdraft, i.credits, i.settings, i.revision
       from import_item i join project p on p.id = i.internal_id join credit_account a on a.project_id = p.id order by i.external_id`,
      `select i.external_id, o.external_id as owner, k.name, k.metadata, k.models, k.ip_ranges, k.rpm, k.in_flight_max, k.budget,
         k.budget_daily, k.budget_monthly, k.expires_at < clock_timestamp() as expired, i.settings,
         (select array_agg(encode(s.digest, 'hex') || s.pepper_id || s.prefix || s.last4 || s.checksummed order by s.digest)
          from api_key_secret s where s.key_id = k.id) as secrets
       from import_item i join api_key k on k.id = i.internal_id
       join import_item o on o.internal_id = k.project_id and o.kind = 'project' order by i.external_id`,
      `select i.external_id, c.name, c.adapter, c.base_url, c.groups, c.priority, c.weight, c.enabled, i.settings,
         (select array_agg(last4 order by last4) from channel_credential e where e.channel_id = c.id) as credentials
       from import_item i join channel c on c.id = i.internal_id order by i.external_id`,
      `select i.external_id, e.kind, e.credits, e.reference from ledger_entry e join import_item i on i.internal_id = e.project_id
       order by i.external_id, e.reference`,
      `select action, detail, after - 'project_id' as after from audit_entry where action in ('projects.import', 'keys.import')
       order by action, detail ->> 'id'`,
      `select (select count(*) from project)::int as projects, (select count(*) from api_key)::int as keys,
         (select count(*) from api_key_secret)::int as secrets, (select count(*) from channel)::int as channels`,
    ].map((text) => rowsOf(db, text)),
  );
