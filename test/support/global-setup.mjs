import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { findTemporal } from '../../scripts/find-temporal.mjs';
import { startPostgres } from '../../packages/dev-stack/src/servers/postgres.ts';
import { startGuardian } from '../../packages/dev-stack/src/processes/start-guardian.ts';
import { startTemporal } from '../../packages/dev-stack/src/servers/temporal.ts';
import { lightTemporal } from './light-temporal.ts';
import { projectFolder } from './program.ts';
import { serveRunHelper } from './run-helper.ts';
import { runtimeUrlOf } from './database.ts';
import { startPgBouncer } from './pgbouncer.ts';
import { makeTemplates } from './templates.ts';

/**
 * Starts one PostgreSQL and one Temporal server for the whole run, on free ports and in a folder of their own. Test files find
 * them as TEST_DATABASE_URL (its owner may create databases), TEST_TEMPORAL_ADDRESS and TEST_TEMPORAL_BINARY, and the helper of the
 * run (`run-helper.ts`) as TEST_RUN_HELPER. In
 * TEST_COMPILE_CACHE, our programs keep their compiled code for the next start and the next run. The guardian stops both servers
 * and removes the folder, also when the run is interrupted or killed.
 */
export default async function globalSetup() {
  const guardian = startGuardian();
  globalThis.tollgateTestGuardian = guardian;
  try {
    const temporal = findTemporal();
    if (!temporal) throw new Error('There is no Temporal server; run `npm test`, which finds or makes one.');
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-test-'));
    guardian.removeFolder(folder);
    const avoid = new Set();
    const preparePostgres = async () => {
      const { url } = await startPostgres({
        dir: join(folder, 'postgres'),
        port: 0,
        avoid,
        password: randomBytes(16).toString('hex'),
        // No data outlives the run, so nothing has to reach the disk. A client computes each iteration at each of thousands of connections;
        // PostgreSQL 15 lacks the setting.
        settings: {
          fsync: 'off',
          full_page_writes: 'off',
          max_connections: '400',
          ...(!process.env.TEST_POSTGRES_BIN && { scram_iterations: '1' }),
        },
        logFile: join(folder, 'postgres.log'),
        guardian,
      });
      process.env.TEST_DATABASE_URL = url;
      await makeTemplates();
      if (process.env.TEST_PGBOUNCER) await startPooler(url);
    };
    const prepareTemporal = async () => {
      const { address } = await startTemporal({
        binary: temporal.path,
        dbFile: join(folder, 'temporal.db'),
        port: 0,
        uiPort: 0,
        avoid,
        ...lightTemporal,
        logFile: join(folder, 'temporal.log'),
        guardian,
      });
      process.env.TEST_TEMPORAL_ADDRESS = address;
    };
    process.env.TEST_TEMPORAL_BINARY = temporal.path;
    process.env.TEST_COMPILE_CACHE = join(projectFolder, 'node_modules', '.cache', 'tollgate', 'compiled');
    await Promise.all([preparePostgres(), prepareTemporal()]);
    const helper = await serveRunHelper();
    globalThis.tollgateTestHelper = helper;
    process.env.TEST_RUN_HELPER = helper.url;
  } catch (error) {
    // No reporter exists yet; the run still ends with its line.
    process.on('exit', () => process.stdout.write('0 passed, 1 failed\n'));
    await guardian.close();
    throw error;
  }
}

/** Lets the gateways and the databases of the tests use PgBouncer in transaction mode, with few connections, so that clients share them. */
async function startPooler(url) {
  process.env.PGBOUNCER = process.env.TEST_PGBOUNCER;
  // PgBouncer does not pass the time limits of a connection on.
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const role of [url, runtimeUrlOf(url)].map((one) => new URL(one).username))
    for (const limit of [
      `statement_timeout = '15s'`,
      `lock_timeout = '2s'`,
      `idle_in_transaction_session_timeout = '10s'`,
      `jit = off`,
    ])
      await client.query(`alter role ${role} set ${limit}`);
  await client.end();
  const settings = {
    pool_mode: 'transaction',
    max_prepared_statements: '200',
    default_pool_size: '5',
    max_client_conn: '2000',
    server_idle_timeout: '10',
    ignore_startup_parameters: 'options',
  };
  const bouncer = await startPgBouncer(url, settings, [runtimeUrlOf(url)]);
  globalThis.tollgateTestPooler = bouncer;
  process.env.TEST_POOLER_HOST = new URL(bouncer.through(url)).host;
}
