import { join } from 'node:path';
import { findTemporal } from '../../../scripts/find-temporal.mjs';
import { startPostgres } from './servers/postgres.ts';
import type { Guardian } from './processes/start-guardian.ts';
import { startTemporal, temporalFile } from './servers/temporal.ts';
import type { Ports } from './dev-ports.ts';
import { startNodeChild, type NodeChildOptions } from './node-child.ts';
import { StartRefused } from './start-refused.ts';
import type { Supervisor } from '../../../src/main/processes/supervisor.ts';

/** The options that every server of the stack is started with. */
export interface ServerContext {
  env: Record<string, string | undefined>;
  home: string;
  logFolder: string;
  projectFolder: string;
  ports: Ports;
  supervisor: Supervisor;
  /** The guardian of all children. Throws once the stack is being stopped. */
  guardian: () => Guardian;
}

/** Starts PostgreSQL, unless DATABASE_URL names a database. */
export async function startDatabase(
  context: ServerContext,
  wanted: number,
  password: string,
): Promise<{ url: string }> {
  const { env, home, logFolder, ports, supervisor, guardian } = context;
  if (env.DATABASE_URL) return { url: env.DATABASE_URL };
  const portKeeper = ports.keep({ label: 'PostgreSQL', wanted });
  const files = { dir: join(home, 'postgres'), logFile: join(logFolder, 'postgres.log') };
  return supervisor.start({
    name: 'postgres',
    start: () =>
      portKeeper.start((port) => startPostgres({ ...files, port, keepPort: true, password, guardian: guardian() })),
  });
}

/** Starts Temporal, unless TEMPORAL_ADDRESS names a server. */
export async function startEngine(
  { env, home, logFolder, ports, supervisor, guardian }: ServerContext,
  wanted: number,
  wantedUi: number,
): Promise<{ address: string; uiUrl: string; own: boolean }> {
  if (env.TEMPORAL_ADDRESS) return { address: env.TEMPORAL_ADDRESS, uiUrl: env.TEMPORAL_UI_URL ?? '', own: false };
  const found = findTemporal({ env });
  if (found === null) {
    throw new StartRefused(
      'there is no Temporal server on this machine. `npm start` finds or makes one; or set TEMPORAL_ADDRESS.',
    );
  }
  const portKeeper = ports.keep({ label: 'Temporal', wanted });
  const uiPortKeeper = ports.keep({ label: 'the Temporal UI', wanted: wantedUi });
  const files = { dbFile: temporalFile(home, found.version), logFile: join(logFolder, 'temporal.log') };
  const server = await supervisor.start({
    name: 'temporal',
    start: () =>
      portKeeper.start((port) =>
        uiPortKeeper.start((uiPort) =>
          startTemporal({ binary: found.path, ...files, port, uiPort, keepPort: true, guardian: guardian() }),
        ),
      ),
  });
  return { address: server.address, uiUrl: server.uiUrl, own: true };
}

/** Starts the sandbox upstream. Like a real provider it gets nothing of the gateway's environment, except the
 * catalog, whose models it lists. */
export async function startSandbox(context: ServerContext, wanted: number, script: string): Promise<string> {
  const portKeeper = context.ports.keep({ label: 'the sandbox', wanted });
  const { PATH, HOME, CATALOG_FILE } = context.env;
  const server = await context.supervisor.start({
    name: 'sandbox',
    start: () =>
      portKeeper.start((port) => {
        const env = { PATH, HOME, CATALOG_FILE, HOST: '127.0.0.1', PORT: String(port) };
        return startNodeChild({ ...nodeOptions(context, 'sandbox', script, env), graceSeconds: 2 });
      }),
  });
  return server.listening ?? `http://127.0.0.1:${await portKeeper.port()}`;
}

/** How one of the stack's Node programs is started. */
export const nodeOptions = (
  { projectFolder, logFolder, guardian }: ServerContext,
  name: string,
  script: string,
  env: Record<string, string | undefined>,
): Omit<NodeChildOptions, 'graceSeconds'> => ({
  name,
  script,
  cwd: projectFolder,
  env,
  logFolder,
  guardian: guardian(),
});
