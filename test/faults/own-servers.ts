import { mkdtempSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres, type PostgresServer } from '../../packages/dev-stack/src/servers/postgres.ts';
import { startGuardian } from '../../packages/dev-stack/src/processes/start-guardian.ts';
import { startTemporal, type TemporalServer } from '../../packages/dev-stack/src/servers/temporal.ts';
import { lightTemporal } from '../support/light-temporal.ts';
import { chooseOwnPort } from '../support/own-port.ts';

/** A server for one test file, which may stop, wipe and restart it without affecting other test files. */
export interface OwnServer {
  stop(): Promise<void>;
  /** Starts the server again on the same port. `wiped` deletes its data first. */
  start(how?: { wiped: boolean }): Promise<void>;
  /** Sends a signal to the server and to its child processes. */
  signal(name: 'SIGSTOP' | 'SIGCONT'): void;
  /** Kills the server and its child processes, which flush nothing. Resolves when the server has ended. */
  kill(): Promise<void>;
  /** Stops the server and removes its folder. */
  close(): Promise<void>;
}

/** Starts a Temporal server for one test file and sets TEST_TEMPORAL_ADDRESS to its address. */
export async function ownTemporal(): Promise<OwnServer> {
  const binary = process.env['TEST_TEMPORAL_BINARY'];
  if (!binary) throw new Error('TEST_TEMPORAL_BINARY is not set. Run the tests with `npm test`.');
  return ownServer({
    launch: ({ folder, guardian, ports }) =>
      startTemporal({
        binary,
        dbFile: join(folder, 'temporal.db'),
        port: ports.port,
        uiPort: ports.uiPort,
        keepPort: ports.keep,
        ...lightTemporal,
        guardian,
      }),
    wipe: (folder) =>
      Promise.all(['', '-wal', '-shm'].map((end) => rm(join(folder, `temporal.db${end}`), { force: true }))),
    announce: (server: TemporalServer) => {
      process.env['TEST_TEMPORAL_ADDRESS'] = server.address;
    },
  });
}

/**
 * Starts a PostgreSQL for one test file and sets TEST_DATABASE_URL to it. Committed data survives a restart. `settings` are
 * further server settings.
 */
export async function ownPostgres(settings: Record<string, string> = {}): Promise<OwnServer> {
  return ownServer({
    launch: ({ folder, guardian, ports }) =>
      startPostgres({
        dir: join(folder, 'postgres'),
        port: ports.port,
        keepPort: ports.keep,
        password: 'of-this-test',
        settings,
        guardian,
      }),
    wipe: (folder) => rm(join(folder, 'postgres'), { recursive: true, force: true }),
    announce: (server: PostgresServer) => {
      process.env['TEST_DATABASE_URL'] = server.url;
      // The template databases of the test run, the role that they know, and its pooler belong to the shared server.
      delete process.env['TEST_DATABASE_TEMPLATE'];
      delete process.env['TEST_GATEWAY_TEMPLATE'];
      delete process.env['TEST_RUNTIME_PASSWORD'];
      delete process.env['TEST_POOLER_HOST'];
    },
  });
}

interface Ports {
  port: number;
  uiPort: number;
  keep: boolean;
}

interface Kind<Server> {
  launch(options: { folder: string; guardian: ReturnType<typeof startGuardian>; ports: Ports }): Promise<Server>;
  wipe(folder: string): Promise<unknown>;
  announce(server: Server): void;
}

interface Running {
  pid: number;
  exited: Promise<string>;
  stop(): Promise<void>;
}

async function ownServer<Server extends Running>(kind: Kind<Server>): Promise<OwnServer> {
  const guardian = startGuardian();
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-own-'));
  guardian.removeFolder(folder);
  try {
    const ports = { port: await chooseOwnPort(), uiPort: await chooseOwnPort(), keep: true };
    let server = await kind.launch({ folder, guardian, ports });
    kind.announce(server);
    return {
      stop: () => server.stop(),
      async start({ wiped } = { wiped: false }) {
        if (wiped) await kind.wipe(folder);
        server = await kind.launch({ folder, guardian, ports });
      },
      signal(name) {
        // First the server, which then starts no further child.
        send(server.pid, name);
        for (const pid of childrenOf(server.pid)) send(pid, name);
      },
      async kill() {
        for (const pid of [server.pid, ...childrenOf(server.pid)]) send(pid, 'SIGKILL');
        await server.exited;
      },
      async close() {
        await server.stop();
        await guardian.close();
      },
    };
  } catch (error) {
    await guardian.close();
    throw error;
  }
}

/** Sends a signal to a process. One that has ended meanwhile is no error. */
function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/** The children of a process (Linux). */
function childrenOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return children.split(' ').filter(Boolean).map(Number);
}
