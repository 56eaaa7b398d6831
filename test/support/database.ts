import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { openDatabase, type Database } from '../../src/db/database.ts';
import { migrate } from '../../src/db/migrate.ts';
import { testServer } from './test-server.ts';

/** A database of a test's own, dropped by `drop` together with every door that was opened on it. */
export interface TestDatabase {
  name: string;
  url: string;
  /** One more pair of doors: another process' pool, as far as PostgreSQL can tell. `via` is another URL to the same place. */
  open(options?: { poolMax?: number; via?: string }): Promise<Database>;
  /** Closes every door: a database can be copied only while nobody is connected to it. */
  shut(): Promise<void>;
  drop(): Promise<void>;
}

/** Makes an empty database, or a copy of `template`, in the server of TEST_DATABASE_URL. Migrated unless told otherwise. */
export async function createTestDatabase({
  migrated = true,
  template,
}: { migrated?: boolean; template?: TestDatabase } = {}): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await template?.shut();
  await onServer(`create database ${name} template ${template?.name ?? 'template0'}`);
  const url = testDatabaseUrl(name);
  const opened: Database[] = [];
  const scratch: TestDatabase = {
    name,
    url,
    async open({ poolMax = 4, via = url } = {}) {
      const database = await openDatabase({ url: via, poolMax, connectTimeoutMs: 30_000, statementTimeoutMs: 10_000 });
      opened.push(database);
      return database;
    },
    async shut() {
      await Promise.all(opened.splice(0).map((database) => database.close()));
    },
    async drop() {
      await scratch.shut();
      await onServer(`drop database if exists ${name} with (force)`);
    },
  };
  if (migrated && !template) await migrateFrom(scratch);
  return scratch;
}

async function migrateFrom(scratch: TestDatabase): Promise<void> {
  // One for the lock, one for the migrator's looks at the books.
  const database = await scratch.open({ poolMax: 2 });
  await migrate(database);
  await scratch.shut();
}

function testDatabaseUrl(name: string): string {
  const url = new URL(testServer('TEST_DATABASE_URL'));
  url.pathname = `/${name}`;
  return url.href;
}

/** `create database` and its like run outside of transactions, on a connection of their own. */
async function onServer(text: string): Promise<void> {
  const client = new pg.Client({
    connectionString: testDatabaseUrl('postgres'),
    connectionTimeoutMillis: 30_000,
    query_timeout: 30_000,
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}
