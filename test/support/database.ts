import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { openDatabase, type Database } from '../../src/db/database.ts';
import { migrate } from '../../src/db/migrate.ts';
import { pooledUrlOf } from './pooled-url.ts';
import { testServer } from './test-server.ts';

/** A database of one test file. `drop` closes every connection that `open` made. */
export interface TestDatabase {
  name: string;
  url: string;
  /** The same database as the role of a production gateway, which owns no table; `url` where there is no template of the run. */
  runtimeUrl: string;
  /**
   * Opens a new connection pool, as another process does. `via` is another URL of the same database. Its statements wait a minute for a lock and its
   * transactions may idle, because a process of a busy machine may stand still meanwhile. `isHasty`: they have the limits of a gateway.
   */
  open(options?: { poolMax?: number; via?: string; statementTimeoutMs?: number; isHasty?: boolean }): Promise<Database>;
  /** Closes the pools, because PostgreSQL copies a database only while it has no connections. */
  shut(): Promise<void>;
  drop(): Promise<void>;
}

export interface TestDatabaseOptions {
  /** False creates an empty database. */
  migrated?: boolean;
  /** The database to copy instead of the template of the run. A name may be given if the database has no connections. */
  template?: TestDatabase | string | undefined;
}

/**
 * Creates a database in the server of TEST_DATABASE_URL. A migrated database is a copy of the template of the global setup. On a
 * server without that template, such as a benchmark's, the new database is migrated here.
 */
export async function createTestDatabase({
  migrated = true,
  template,
}: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  if (typeof template === 'object') await template.shut();
  // A pooler keeps its connections.
  if (typeof template === 'object' && process.env['TEST_POOLER_HOST'] !== undefined)
    await onServer(`select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '${template.name}'`);
  const templateName = typeof template === 'object' ? template.name : template;
  const runTemplate = migrated ? process.env['TEST_DATABASE_TEMPLATE'] : undefined;
  // Copying files takes a fifth of the CPU time of copying through the log, which is the default.
  await onServer(`create database ${name} template ${templateName ?? runTemplate ?? 'template0'} strategy file_copy`);
  const url = testDatabaseUrl(name);
  const opened: Database[] = [];
  const scratch: TestDatabase = {
    name,
    url,
    runtimeUrl: (templateName ?? runTemplate) ? runtimeUrlOf(url) : url,
    open({ poolMax = 4, via = pooledUrlOf(url), statementTimeoutMs = 60_000, isHasty = false } = {}) {
      const own = isHasty ? via : patiently(via, statementTimeoutMs);
      const database = openDatabase({ url: own, poolMax, connectTimeoutMs: 60_000, statementTimeoutMs });
      opened.push(database);
      return Promise.resolve(database);
    },
    async shut() {
      await Promise.all(opened.splice(0).map((database) => database.close()));
    },
    async drop() {
      await scratch.shut();
      await onServer(`drop database if exists ${name} with (force)`);
    },
  };
  if (migrated && !template && runTemplate === undefined) {
    await migrate(await scratch.open());
    await scratch.shut();
  }
  return scratch;
}

/** What the processes of a gateway run as in the tests. `makeTemplates` creates it. */
export const runtimeRole = 'tollgate_runtime';

/** `url` as the role of a production gateway, or as it is where there is no template of the run. */
export function runtimeUrlOf(url: string): string {
  const password = process.env['TEST_RUNTIME_PASSWORD'];
  if (password === undefined) return url;
  const runtime = new URL(url);
  [runtime.username, runtime.password] = [runtimeRole, password];
  return runtime.href;
}

function testDatabaseUrl(name: string): string {
  const url = new URL(testServer('TEST_DATABASE_URL'));
  url.pathname = `/${name}`;
  return url.href;
}

/** The URL with limits for a test's own connections: a minute for a lock, and none for an idle transaction. */
export function patiently(url: string, statementTimeoutMs: number): string {
  const patient = new URL(url);
  const limits = `-c statement_timeout=${statementTimeoutMs} -c lock_timeout=60000 -c jit=off`;
  patient.searchParams.set('options', limits);
  return patient.href;
}

/**
 * Runs a statement such as `create database`, which cannot run in a transaction, on its own connection. PostgreSQL waits five seconds for the
 * sessions of a database that it copies or drops; on a busy machine one may end later, so the statement is repeated.
 */
async function onServer(text: string): Promise<void> {
  const client = new pg.Client({
    connectionString: testDatabaseUrl('postgres'),
    connectionTimeoutMillis: 120_000,
    query_timeout: 120_000,
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    for (let tries = 1; ; tries++) {
      try {
        return void (await client.query(text));
      } catch (error) {
        if (tries === triesMax || !(error instanceof pg.DatabaseError && error.code === objectInUse)) throw error;
      }
    }
  } finally {
    await client.end();
  }
}

const objectInUse = '55006';
const triesMax = 12;
