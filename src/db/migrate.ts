import { setTimeout as sleep } from 'node:timers/promises';
import type { MikroORM, Transaction } from '@mikro-orm/postgresql';
import { creditValueOfNew } from '../domain/ledger/money.ts';
import type { Database } from './database.ts';
import { migrations, sqlOf } from './migrations/index.ts';
import { runAhead } from './run-ahead.ts';
import { grantToRuntimeRole } from './runtime-role.ts';
import { sqlFunctions, type SqlFunction } from './sql/functions.ts';

/** An advisory lock. A second process that migrates waits for it, and then has nothing to do. */
const migrationLock = 7_105_001;

export interface MigrateOptions {
  /** The role of API servers, workers and operators, if it is not the one that migrates. It gets its privileges again. */
  runtimeRole?: string | null;
  /** What one credit is worth, in micro-USD. Null or absent: as before. */
  creditValue?: number | null;
  /** The days of API details that only the owner can drop. Absent: as many as before. */
  detailDays?: number;
}

/**
 * Brings the tables and functions up to this code's version, in one transaction: a failure leaves the schema as it was, except for
 * indexes that were built ahead. Several processes may call it at the same time. Returns the names of the migrations and functions that it applied.
 *
 * Processes of the former release serve meanwhile. They wait for locks for two seconds, and PostgreSQL takes a second to find a deadlock. So the
 * transaction first locks all tables that it changes, gives up sooner than its clients do, and begins again.
 */
export async function migrate(database: Database, options: MigrateOptions = {}): Promise<string[]> {
  const { orm } = await database.orm();
  // Creates `applied_migration`, which MikroORM does on a connection of its own. Another process may create it at the same time.
  await orm.migrator.getExecuted().catch(() => orm.migrator.getExecuted());
  await runAhead(orm, pendingAfter(await formerMigrations(database)));
  for (const lockMs of lockWaitsMs) {
    try {
      return await migrateOnce(orm, options, lockMs);
    } catch (error) {
      if (!isLockRefused(error)) throw error;
      await sleep(lockMs * (2 + Math.random()));
    }
  }
  return migrateOnce(orm, options, lastLockWaitMs).catch((cause: unknown) => {
    throw isLockRefused(cause) ? new Error(tablesInUse, { cause }) : cause;
  });
}

const tablesInUse =
  'A transaction that does not end, such as a dump, uses the tables that migrate changes. Nothing was changed. Run migrate again after it.';

/** For all tables together. The first ones disturb no client, and the last one outlasts an autovacuum, which gives way after a second. */
const lockWaitsMs = [200, 200, 300, 300, 400, 400, 600, 600, 800, 800];
const lastLockWaitMs = 4_000;

const isLockRefused = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && ['57014', '55P03', '40P01'].includes(String(error.code));

async function migrateOnce(
  orm: MikroORM,
  { runtimeRole = null, creditValue = null, detailDays }: MigrateOptions,
  lockMs: number,
): Promise<string[]> {
  return orm.em.getConnection().transactional(async (transaction) => {
    const run = inTransaction(orm, transaction);
    // Another process may take minutes to migrate, so this lock has no timeout. Locks of tables have one, because clients wait behind them.
    await run(`select set_config('lock_timeout', '0', true), set_config('statement_timeout', '0', true),
                      set_config('idle_in_transaction_session_timeout', '0', true)`);
    await run(`select pg_advisory_xact_lock(${migrationLock}), set_config('lock_timeout', '2s', true)`);
    await createBookkeeping(run);
    const existing = await refuseUnknownMigrations(run);
    const isNew = existing.length === 0;
    const found = new Map(
      (await run('select name, checksum from applied_function')).map((row) => [row.name, row.checksum]),
    );
    const changed = sqlFunctions.filter(({ name, checksum }) => found.get(name) !== checksum);

    await applyFunctions(
      run,
      changed.filter(({ isTrigger }) => isTrigger),
    );
    await lockTables(run, pendingAfter(existing), lockMs);
    const applied = await orm.migrator.up({ transaction });
    await applyFunctions(
      run,
      changed.filter(({ isTrigger }) => !isTrigger),
    );
    await run('insert into installation (credit_value_micro_usd) values (?::bigint) on conflict do nothing', [
      String(creditValue ?? (isNew ? creditValueOfNew : creditValueBefore030)),
    ]);
    if (creditValue !== null)
      await run('update installation set credit_value_micro_usd = ?::bigint', [String(creditValue)]);
    if (detailDays !== undefined)
      await run('update retention_floor set api_detail_days = ?::int where api_detail_days is distinct from ?::int', [
        String(detailDays),
        String(detailDays),
      ]);
    if (isNew) await run(endOfFormerRelease);
    if (runtimeRole !== null) await grantToRuntimeRole(run, runtimeRole);
    return [...applied, ...changed].map(({ name }) => name);
  });
}

/** Up to 0.2.0 the default of the setting was a cent, and no database has stored it. */
const creditValueBefore030 = 10_000;

type Run = (text: string, values?: string[]) => Promise<{ name: string; checksum?: string }[]>;

const inTransaction =
  (orm: MikroORM, transaction: Transaction): Run =>
  (text, values) =>
    orm.em.getConnection().execute(text, values, 'all', transaction);

/**
 * Refuses a newer release's database, whose functions must not be replaced, and one of 0.1.0, which cannot be upgraded. Returns the names of the
 * migrations that it has: none for a new database.
 */
async function refuseUnknownMigrations(run: Run): Promise<string[]> {
  const rows = await run('select name from applied_migration order by id');
  const unknown = rows
    .map(({ name }) => name)
    .filter((name) => !migrations.some((migration) => migration.name === name));
  if (unknown.length > 0)
    throw new Error(
      `The database has migrations that this release does not know: ${unknown.join(', ')}. It belongs to a newer release, ` +
        'or to 0.1.0, which cannot be upgraded: start with an empty database.',
    );
  return rows.map(({ name }) => name);
}

/** The migrations that a database with rows has. Empty for a new one, and for one that this release does not migrate. */
async function formerMigrations(database: Database): Promise<string[]> {
  const [found] = await database.query<{ isApplied: boolean; isFormer: boolean }>(
    'migrations-of-former-release',
    `select exists (select from applied_migration) as is_applied, to_regclass('schema_migration') is not null as is_former`,
  );
  if (!found?.isApplied && !found?.isFormer) return [];
  const rows = await database.query<{ name: string }>(
    '',
    found.isApplied ? 'select name from applied_migration' : 'select name from schema_migration',
  );
  const isOurs = rows.every(({ name }) => migrations.some((migration) => migration.name === name));
  return isOurs ? rows.map(({ name }) => name) : [];
}

/** The texts of the migrations that follow these; none for a new database. */
const pendingAfter = (existing: readonly string[]): string[] =>
  existing.length === 0 ? [] : migrations.filter(({ name }) => !existing.includes(name)).map(sqlOf);

/** Locks the existing tables that these migrations name, all within `lockMs`. */
async function lockTables(run: Run, texts: readonly string[], lockMs: number): Promise<void> {
  const named = new Set(
    texts.flatMap((text) => [...text.matchAll(/\b(?:table|update|on|references)\s+(\w+)/g)].map(([, name]) => name)),
  );
  const rows = await run(`select tablename as name from pg_tables where schemaname = current_schema() order by 1`);
  const tables = rows.map(({ name }) => name).filter((name) => named.has(name));
  if (tables.length === 0) return;
  await run(`select set_config('statement_timeout', '${lockMs}', true), set_config('lock_timeout', '0', true)`);
  await run(`lock table ${tables.join(', ')} in access exclusive mode`);
  await run(`select set_config('statement_timeout', '0', true), set_config('lock_timeout', '2s', true)`);
}

/** All by one statement, because clients wait meanwhile. */
async function applyFunctions(run: Run, functions: SqlFunction[]): Promise<void> {
  await run(functions.map(({ text }) => text).join(';\n'));
  await run(
    `insert into applied_function (name, checksum)
     select name, checksum from jsonb_to_recordset(?::jsonb) as changed (name text, checksum text)
     on conflict (name) do update set checksum = excluded.checksum, applied_at = clock_timestamp()`,
    [JSON.stringify(functions.map(({ name, checksum }) => ({ name, checksum })))],
  );
}

/**
 * Throws unless the schema is exactly the one that this code was written for. With `acceptNewer` it may have more migrations and
 * other versions of the functions: a process that runs while the next release migrates keeps running, because a migration only
 * adds and a function keeps its signature.
 */
export async function assertSchemaVersion(
  database: Database,
  { acceptNewer = false }: { acceptNewer?: boolean } = {},
): Promise<void> {
  const rows = await database
    .query<{ name: string; checksum: string | null }>(
      'schema-version',
      'select name, null as checksum from applied_migration union all select name, checksum from applied_function',
    )
    .catch((error: unknown) => {
      if (isUndefinedTable(error)) return [];
      throw error;
    });
  const found = new Map(rows.map(({ name, checksum }) => [name, checksum]));
  const wanted = migrations.map(({ name }) => name);
  const missing = wanted.filter((name) => !found.has(name));
  const newer = rows
    .filter(({ name, checksum }) => checksum === null && !wanted.includes(name))
    .map(({ name }) => name);
  if (missing.length > 0)
    throw new Error(`The database lacks migrations: ${missing.join(', ')}. Run "npm run migrate".`);
  if (newer.length > 0 && !acceptNewer && !(await isFormerRelease(database)))
    throw new Error(`The database is newer than this code: it has ${newer.sort().join(', ')}.`);
  const stale = sqlFunctions.filter(({ name, checksum }) =>
    acceptNewer || newer.length > 0 ? !found.has(name) : found.get(name) !== checksum,
  );
  if (stale.length > 0)
    throw new Error(
      `The database lacks this version of functions: ${stale.map(({ name }) => name).join(', ')}. Run "npm run migrate".`,
    );
}

/**
 * What a release applied stands in `applied_migration` and `applied_function`. `schema_migration` and `schema_function` have what the former
 * release applied, and that release starts only if they are its own: 0.2.0 knows no other tables. So it starts on the newer schema until
 * `contract` makes them equal.
 */
async function createBookkeeping(run: Run): Promise<void> {
  await run(`create table if not exists schema_migration (
    id serial primary key, name varchar(255) not null, executed_at timestamptz(6) not null default current_timestamp(6))`);
  await run(`create table if not exists schema_function (
    name text primary key, checksum text not null, applied_at timestamptz not null default clock_timestamp())`);
  await run('create table if not exists applied_function (like schema_function including all)');
  if ((await run('select name from applied_migration limit 1')).length > 0) return;
  await run(
    `insert into applied_migration (name, executed_at) select name, executed_at from schema_migration order by id`,
  );
  await run('insert into applied_function select * from schema_function');
}

const endOfFormerRelease = `
  delete from schema_migration;
  delete from schema_function;
  insert into schema_migration (name, executed_at) select name, executed_at from applied_migration order by id;
  insert into schema_function select * from applied_function`;

const migrationDifferences = `
  (select name, '' as checksum from applied_migration union all select name, checksum from applied_function)
  except (select name, '' from schema_migration union all select name, checksum from schema_function)`;

/** Whether the former release can still start on this schema, because `contract` was not run. */
export const mayContract = async (database: Database): Promise<boolean> =>
  (await database.query('schema-differences', migrationDifferences)).length > 0;

/** Whether this code is the release whose state a newer one has kept. */
async function isFormerRelease(database: Database): Promise<boolean> {
  const rows = await database.query<{ name: string; checksum: string | null }>(
    'former-schema-version',
    'select name, null as checksum from schema_migration union all select name, checksum from schema_function',
  );
  const found = new Map(rows.map(({ name, checksum }) => [name, checksum]));
  const own = [...migrations.map(({ name }) => name), ...sqlFunctions.map(({ name }) => name)];
  return rows.length === own.length && own.every((name) => found.has(name));
}

/**
 * The second step of an upgrade, once no process of the former release runs: that release starts no more, and the functions that only it
 * called are dropped. Returns their names. Repeated, it changes nothing.
 */
export async function contract(database: Database): Promise<string[]> {
  const { orm } = await database.orm();
  return orm.em.getConnection().transactional(async (transaction) => {
    const run = inTransaction(orm, transaction);
    await run(`select pg_advisory_xact_lock(${migrationLock}), set_config('lock_timeout', '2s', true)`);
    const kept = new Set(sqlFunctions.map(({ name }) => name));
    const gone = (await run('select name from applied_function'))
      .map(({ name }) => name)
      .filter((name) => !kept.has(name));
    for (const name of gone) {
      const overloads = await run(
        `select oid::regprocedure::text as name from pg_proc where proname = ? and pronamespace = 'public'::regnamespace`,
        [name],
      );
      for (const overload of overloads) await run(`drop function ${overload.name}`);
      await run('delete from applied_function where name = ?', [name]);
    }
    await run(endOfFormerRelease);
    return gone;
  });
}

const isUndefinedTable = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && error.code === '42P01';
