import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { chown, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { choosePort } from '../../../../src/main/processes/choose-port.ts';
import { launch, untilReady, type LaunchedProcess } from '../processes/launch.ts';
import { postgresBinaries } from './postgres-binaries.ts';
import { unprivileged, type Account } from './postgres-account.ts';
import { processCommand, processStart } from '../processes/process-identity.ts';
import type { Guardian } from '../processes/start-guardian.ts';
import { stopProcess } from '../processes/stop-process.ts';

export interface PostgresOptions {
  /** The data folder. Created and initialised if missing. Its parent must exist. */
  dir: string;
  /** The wanted port. If it is taken or 0, a free one is used, unless `keepPort` is set. */
  port: number;
  keepPort?: boolean;
  /** The ports that other servers already have. */
  avoid?: Set<number>;
  /** The password of the owner `tollgate`, fixed when the folder is initialised. */
  password: string;
  /** Further server settings. */
  settings?: Record<string, string>;
  logFile?: string;
  guardian?: Guardian;
}

/** Its stop is a fast shutdown: it rolls open transactions back and keeps committed data. */
export interface PostgresServer extends LaunchedProcess {
  port: number;
  /** The connection URL of the database `tollgate`. */
  url: string;
}

/**
 * Starts PostgreSQL on loopback and resolves when it accepts connections. Committed data survives any crash: the folder of a killed
 * server is recovered, and a server of an earlier run is replaced. Rejects after a minute.
 */
export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const { dir, password, keepPort = false, avoid = new Set() } = options;
  const account = unprivileged(dir);
  if (!existsSync(join(dir, 'PG_VERSION'))) await initialise(options, account);
  await endFormerServer(dir);

  const port = keepPort ? options.port : await choosePort(options.port, avoid);
  const url = (database: string) =>
    `postgresql://tollgate:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`;
  const server = await launchReady({ ...options, port, account, url: url('postgres') });
  try {
    await createDatabase(url('postgres'));
  } catch (error) {
    await server.stop();
    throw error;
  }
  return { ...server, port, url: url('tollgate') };
}

// Parameters and rows of a failing statement may have keys and prompts, so they are not logged.
const ourSettings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_error_verbosity: 'terse',
  log_parameter_max_length: '0',
  log_parameter_max_length_on_error: '0',
  // After each checkpoint the first change of a page is logged with the whole page.
  wal_compression: 'on',
  checkpoint_timeout: '15min',
  max_wal_size: '4GB',
};

/** Initialises a temporary folder and renames it, so that an incomplete cluster is never used. */
async function initialise({ dir, password, guardian }: PostgresOptions, account: Account): Promise<void> {
  const { initdb } = await postgresBinaries();
  const making = `${dir}.new`;
  await rm(making, { recursive: true, force: true });
  await mkdir(making, { recursive: true, mode: 0o700 });
  const secret = await mkdtemp(join(tmpdir(), 'tollgate-initdb-'));
  const passwordFile = join(secret, 'password');
  const logFile = join(dirname(dir), `initdb-${randomBytes(4).toString('hex')}.log`);
  try {
    await writeFile(passwordFile, password, { mode: 0o600 });
    for (const path of [making, secret, passwordFile]) {
      if (account.uid !== undefined && account.gid !== undefined) await chown(path, account.uid, account.gid);
    }
    const run = await launch({
      ...account.wrap(initdb, [
        '--pgdata',
        making,
        '--username=tollgate',
        `--pwfile=${passwordFile}`,
        '--auth=scram-sha-256',
        '--encoding=UTF8',
        '--locale=C',
      ]),
      env: serverEnvironment(),
      logFile,
      stopSignal: 'SIGINT',
      graceSeconds: 2,
      guardian,
    });
    const limit = setTimeout(() => void run.stop(), 120_000);
    const ended = await run.exited;
    clearTimeout(limit);
    if (!existsSync(join(making, 'global', 'pg_control')) || ended !== 'ended with code 0') {
      throw new Error(`PostgreSQL could not be initialised; initdb ${ended}:\n${run.logTail()}`);
    }
    await rm(dir, { recursive: true, force: true });
    await rename(making, dir);
  } finally {
    await rm(secret, { recursive: true, force: true });
    await rm(logFile, { force: true });
  }
}

/**
 * Removes the postmaster.pid of a killed server, which blocks the next start if another process of the same user has its id. Stops a
 * server of an earlier run whose supervisor died.
 */
async function endFormerServer(dir: string): Promise<void> {
  const file = join(dir, 'postmaster.pid');
  if (!existsSync(file)) return;
  const pid = Number(readFileSync(file, 'utf8').split('\n')[0]);
  const start = processStart(pid);
  if (start !== null && isServerOf(dir, pid)) await stopProcess({ pid, start, signal: 'SIGINT', graceSeconds: 10 });
  else await rm(file, { force: true });
}

function isServerOf(dir: string, pid: number): boolean {
  const command = processCommand(pid);
  return command.includes('postgres') && command.includes(dir);
}

/** After a kill the old server's children take a moment to end. Until then a new server refuses the folder. */
async function launchReady(options: PostgresOptions & { account: Account; url: string }): Promise<LaunchedProcess> {
  const { dir, port, settings = {}, account, url, logFile, guardian } = options;
  const { postgres } = await postgresBinaries();
  const flags = Object.entries({ ...ourSettings, ...settings }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const until = Date.now() + readySecondsMax * 1_000;
  for (;;) {
    const server = await launch({
      ...account.wrap(postgres, ['-D', dir, '-p', String(port), ...flags]),
      env: serverEnvironment(),
      logFile,
      stopSignal: 'SIGINT',
      graceSeconds: 15,
      guardian,
      rank: 0,
    });
    const refusal = await untilReady(server, until, () => query(url, 'SELECT 1'));
    if (refusal === null) return server;
    await server.stop();
    const mayPass = /pre-existing shared memory block|lock file "postmaster.pid"/.test(refusal);
    if (!mayPass || Date.now() > until) throw new Error(`PostgreSQL did not start on port ${port}: ${refusal}`);
    await sleep(500);
  }
}

// Recovery after a kill replays the log, which takes seconds on a laptop's disk.
const readySecondsMax = 60;

async function createDatabase(url: string): Promise<void> {
  const rows = await query(url, `SELECT 1 FROM pg_database WHERE datname = 'tollgate'`);
  if (rows.length > 0) return;
  await query(url, `CREATE DATABASE tollgate TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'`);
}

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000, query_timeout: 30_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query<Record<string, unknown>>(text);
    return rows;
  } finally {
    await client.end().catch(() => {});
  }
}

/** The minimal environment of a server, without the user's libpq variables. */
function serverEnvironment(): Record<string, string | undefined> {
  return { PATH: process.env.PATH, TZ: 'UTC', LC_ALL: 'C' };
}
