import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findTemporal } from '../scripts/find-temporal.mjs';
import { startPostgres } from '../packages/dev-stack/src/servers/postgres.ts';
import { startGuardian } from '../packages/dev-stack/src/processes/start-guardian.ts';
import { startTemporal } from '../packages/dev-stack/src/servers/temporal.ts';

export interface BenchServers {
  postgresPid: number;
  /** The file that PostgreSQL logs to. */
  postgresLog: string;
  temporalPid: number;
  temporalAddress: string;
  close(): Promise<void>;
}

/** Starts PostgreSQL and Temporal as `npm start` does, with fsync, and sets the variables that the test harness reads. */
export async function startBenchServers({ postgresSettings = {} } = {}): Promise<BenchServers> {
  const guardian = startGuardian();
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'));
  guardian.removeFolder(folder);
  const temporal = findTemporal();
  if (!temporal) throw new Error('There is no Temporal server. `npm run bench` finds or installs one first.');
  const avoid = new Set<number>();
  const password = randomBytes(16).toString('hex');
  const postgresLog = join(folder, 'postgres.log');
  const postgres = await startPostgres({
    logFile: postgresLog,
    dir: join(folder, 'postgres'),
    port: 0,
    avoid,
    password,
    guardian,
    settings: postgresSettings,
  });
  const server = await startTemporal({
    binary: temporal.path,
    dbFile: join(folder, 'temporal.db'),
    port: 0,
    uiPort: 0,
    avoid,
    guardian,
  });
  process.env['TEST_DATABASE_URL'] = postgres.url;
  process.env['TEST_TEMPORAL_ADDRESS'] = server.address;
  process.env['TEST_TEMPORAL_BINARY'] = temporal.path;
  return {
    postgresPid: postgres.pid,
    postgresLog,
    temporalPid: server.pid,
    temporalAddress: server.address,
    close: () => guardian.close(),
  };
}
