import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { choosePort } from '../../../../src/main/processes/choose-port.ts';
import { launch, untilReady, type LaunchedProcess } from '../processes/launch.ts';
import type { Guardian } from '../processes/start-guardian.ts';

export interface TemporalOptions {
  /** The path of the Temporal CLI. */
  binary: string;
  /** The SQLite file of the server. Created if missing. */
  dbFile: string;
  /** The wanted ports. If one is taken or 0, a free one is used, unless `keepPort` is set. */
  port: number;
  uiPort: number;
  keepPort?: boolean;
  /** The ports that other servers already have. */
  avoid?: Set<number>;
  /** Further dynamic configuration: JSON values by key. */
  settings?: Record<string, string>;
  /** Further environment variables, such as those of the Go runtime. */
  environment?: Record<string, string>;
  logFile?: string;
  guardian?: Guardian;
}

export interface TemporalServer extends LaunchedProcess {
  port: number;
  uiPort: number;
  /** For clients: host and port. */
  address: string;
  uiUrl: string;
}

/** Starts Temporal with its UI on loopback. Resolves when the namespace `default` is usable; rejects after a minute. */
export async function startTemporal(options: TemporalOptions): Promise<TemporalServer> {
  const { binary, dbFile, keepPort = false, avoid = new Set(), settings = {}, logFile, guardian } = options;
  const port = keepPort ? options.port : await choosePort(options.port, avoid);
  const uiPort = keepPort ? options.uiPort : await choosePort(options.uiPort, avoid);
  const address = `127.0.0.1:${port}`;
  // A slow Temporal finds its port taken late. Until then the server that has the port would answer the check for readiness.
  if (keepPort && (await choosePort(port, new Set())) !== port)
    throw new Error(`Temporal did not start on port ${port}: another server has it`);
  const server = await launch({
    command: binary,
    args: [
      'server',
      'start-dev',
      '--ip',
      '127.0.0.1',
      '--port',
      String(port),
      '--ui-port',
      String(uiPort),
      '--db-filename',
      dbFile,
      // Without these two pragmas the server starts 13 workflows per second instead of 31.
      '--sqlite-pragma',
      'journal_mode=wal',
      '--sqlite-pragma',
      'synchronous=normal',
      ...Object.entries({ 'matching.enableFairness': 'true', ...settings }).flatMap(([key, value]) => [
        '--dynamic-config-value',
        `${key}=${value}`,
      ]),
      ...searchAttributes.flatMap((name) => ['--search-attribute', `${name}=Keyword`]),
      '--log-level',
      'error',
      '--disable-config-file',
      '--disable-config-env',
    ],
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...options.environment },
    logFile,
    stopSignal: 'SIGINT',
    graceSeconds: 8,
    guardian,
    rank: 1,
  });
  const ownAnswerAfter = Date.now() + ownAnswerAfterMs;
  const refusal = await untilReady(server, Date.now() + servingSecondsMax * 1_000, async () => {
    await describeDefault(address);
    if (Date.now() < ownAnswerAfter) throw new Error('it answers, but the answer may come from another server');
  });
  if (refusal !== null) {
    await server.stop();
    throw new Error(`Temporal did not start on port ${port}: ${refusal}`);
  }
  return { ...server, port, uiPort, address, uiUrl: `http://127.0.0.1:${uiPort}` };
}

/** start-dev never upgrades the schema of a file, so every version has its own file. */
export function temporalFile(folder: string, version: string): string {
  return join(folder, `temporal-${version}.db`);
}

const searchAttributes = ['TollgateModel', 'TollgateProject', 'TollgateKind', 'TollgateOutcome'];
const servingSecondsMax = 60;

// A server whose port is taken ends within this time. Until then the answer could come from another server.
const ownAnswerAfterMs = 1_000;

async function describeDefault(address: string): Promise<void> {
  const connection = await Connection.connect({ address, connectTimeout: 2_000 });
  try {
    await connection.withDeadline(Date.now() + 2_000, () =>
      connection.workflowService.describeNamespace({ namespace: 'default' }),
    );
  } finally {
    await connection.close();
  }
}
