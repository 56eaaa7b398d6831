import type { Database } from './database.ts';
import { migrations } from './migrations/index.ts';

/** One lock for all who migrate: two at once wait for each other, the second finds nothing to do. */
const migrationLock = 7_105_001;

/** Brings the schema up to this code's version. Safe to call from several processes at once. Returns what it applied. */
export async function migrate(database: Database): Promise<string[]> {
  // The lock lives in a session of its own, for the migrator takes whatever connection it likes.
  return database.transaction('begin', async (query) => {
    await query({
      name: 'migration-no-idle-limit',
      text: `select set_config('idle_in_transaction_session_timeout', '0', true)`,
    });
    await query({
      name: 'migration-no-lock-limit',
      text: `select set_config('lock_timeout', '0', true), set_config('statement_timeout', '0', true)`,
    });
    await query({ name: 'migration-lock', text: 'select pg_advisory_xact_lock($1)' }, [migrationLock]);
    const applied = await database.orm.migrator.up();
    return applied.map(({ name }) => name);
  });
}

/**
 * Throws unless the schema is exactly the one that this code was written for. With `acceptNewer` it may have more: a
 * process that runs while the next release migrates goes on, for migrations only add what it does not know.
 */
export async function assertSchemaVersion(
  database: Database,
  { acceptNewer = false }: { acceptNewer?: boolean } = {},
): Promise<void> {
  const rows = await database
    .query<{ name: string }>({ name: 'schema-version', text: 'select name from schema_migration order by id' })
    .catch((error: unknown) => {
      if (isUndefinedTable(error)) return [];
      throw error;
    });
  const found = rows.map(({ name }) => name);
  const wanted = migrations.map(({ name }) => name);
  const missing = wanted.filter((name) => !found.includes(name));
  const newer = found.filter((name) => !wanted.includes(name));
  if (missing.length > 0)
    throw new Error(`The database lacks migrations: ${missing.join(', ')}. Run "npm run migrate".`);
  if (newer.length > 0 && !acceptNewer)
    throw new Error(`The database is newer than this code: it has ${newer.join(', ')}.`);
}

const isUndefinedTable = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && error.code === '42P01';
