import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase, type Database } from '../../src/db/database.ts';
import { verifyLedger, type LedgerReport } from '../../src/db/ledger/verify-ledger.ts';
import { chooseOwnPort } from './own-port.ts';
import { createApiClient, type ApiClient } from './api-client.ts';
import { demandBooksAddUp } from './books-add-up.ts';
import { createTestDatabase, patiently } from './database.ts';
import { quickSettings } from './gateway-settings.ts';
import { leadChannelsTo } from './lead-channels.ts';
import { createGatewayPrograms, type GatewayPrograms, type Undo } from './gateway-programs.ts';
import type { Operator } from './operator.ts';
import { pooledUrlOf } from './pooled-url.ts';
import { createRemoteOperator } from './run-helper-client.ts';
import { createTemporalNamespace, type TemporalNamespace } from './temporal-namespace.ts';

export type { KeyOptions, TestProject } from './operator.ts';

export interface GatewayOptions {
  /** Beside or instead of `quickSettings`. */
  env?: Record<string, string>;
  /** How many of each to start; 1 when absent. */
  apis?: number;
  workers?: number;
  /** False: the channels lead to a port where no server listens. */
  sandbox?: boolean;
  /** True: the processes run with the options of Node in production, for a test of their memory. */
  asInProduction?: boolean;
  /** True: `temporal` has a client. */
  temporalClient?: boolean;
  /** A migrated database instead of a new one. `stop` drops it. */
  scratch?: { url: string; runtimeUrl: string; drop(): Promise<void> };
  /** False: `scratch` has its catalog and its channels, which lead to the placeholder of the templates. */
  prepare?: boolean;
}

/**
 * A whole gateway: real processes over a database and a Temporal namespace of its own. The processes run as the role that owns no
 * table, and the test's own statements as its owner.
 */
export interface Gateway extends Operator, ApiClient, GatewayPrograms {
  /** Of the first API; `baseUrls` has all of them. */
  baseUrl: string;
  sandboxUrl: string;
  database: Database;
  databaseUrl: string;
  temporal: TemporalNamespace;
  /** What each process runs with, for a command or a process that a test starts by itself. */
  env: Record<string, string>;
  logFolder: string;
  /** The books, added up. */
  verifyLedger(): Promise<LedgerReport>;
  /**
   * Ends the processes, drops the database and removes the logs. These stay with `keepLogs`, after a failed poll, and if the books do not add
   * up, which throws.
   */
  stop(options?: { keepLogs?: boolean }): Promise<void>;
}

/**
 * Starts one, with the catalog and the sandbox's channels as `npm start` has them, and timings short enough for a test.
 * Rejects with nothing left running.
 */
export async function startGateway(options: GatewayOptions = {}): Promise<Gateway> {
  const { apis = 1, workers = 1, sandbox = true, asInProduction = false } = options;
  const undo: Undo = [];
  /** Last in, first out, each of them whatever became of the others. */
  const undoAll = async (): Promise<void> => {
    for (const step of undo.splice(0).reverse()) await step().catch(() => undefined);
  };
  try {
    const { folder, template, scratch, temporal, database } = await prepareServers(options, undo);
    const sandboxPort = await chooseOwnPort();
    const firstPort = await chooseOwnPort();
    const baseUrl = `http://127.0.0.1:${firstPort}`;
    const sandboxUrl = `http://127.0.0.1:${sandboxPort}`;
    const env: Record<string, string> = {
      ...quickSettings,
      DATABASE_URL: pooledUrlOf(scratch.runtimeUrl),
      ...(process.env['TEST_POOLER_HOST'] !== undefined && { DATABASE_LISTEN_URL: scratch.runtimeUrl }),
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: temporal.namespace,
      PUBLIC_BASE_URL: baseUrl,
      SANDBOX_URL: sandboxUrl,
      FILES_LOCAL_DIR: join(folder, 'files'),
      PATH: process.env['PATH'] ?? '',
      ...options.env,
    };
    const programs = createGatewayPrograms({
      folder,
      env,
      sandboxPort,
      firstPort,
      asInProduction,
      undo,
    });
    const operator = createRemoteOperator(scratch.url, env);
    undo.push(() => operator.leave());
    const isPrepared = template !== undefined || options.prepare === false;
    const prepare = () => (isPrepared ? leadChannelsTo(sandboxUrl, database) : operator.prepare());
    await all([prepare(), ...(sandbox ? [programs.startSandbox()] : [])]);
    await all([
      ...Array.from({ length: apis }, () => programs.startApi()),
      ...Array.from({ length: workers }, () => programs.startWorker()),
    ]);

    const client = createApiClient({ baseUrl, sandboxUrl });
    let troubled = false;
    return {
      ...operator,
      ...client,
      ...programs,
      async poll(...args) {
        try {
          return await client.poll(...args);
        } catch (cause) {
          troubled = true;
          const reason = cause instanceof Error ? cause.message : String(cause);
          throw new Error(`${reason}\n${logTails(folder)}`, { cause });
        }
      },
      baseUrl,
      sandboxUrl,
      database,
      databaseUrl: scratch.url,
      temporal,
      env,
      logFolder: folder,
      verifyLedger: () => verifySweptLedger(database),
      async stop({ keepLogs = false } = {}) {
        await programs.stopTogether();
        const books = await demandBooksAddUp(database).catch((cause: unknown) => ({ cause }));
        await undoAll();
        if (books) throw books.cause;
        if (!keepLogs && !troubled) rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
      },
    };
  } catch (error) {
    await undoAll();
    throw error;
  }
}

/** A folder for logs, a database and a namespace of Temporal. */
async function prepareServers(options: GatewayOptions, undo: Undo) {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-gateway-'));
  const hasUsualCatalog = options.env?.['CATALOG_FILE'] === undefined;
  const template = hasUsualCatalog && !options.scratch ? process.env['TEST_GATEWAY_TEMPLATE'] : undefined;
  const scratch = options.scratch ?? (await createTestDatabase({ template }));
  undo.push(() => scratch.drop());
  const temporal = await createTemporalNamespace({ withClient: options.temporalClient ?? false });
  undo.push(() => temporal.close());
  const limits = { connectTimeoutMs: 60_000, statementTimeoutMs: 60_000 };
  const database = openDatabase({ url: patiently(scratch.url, limits.statementTimeoutMs), poolMax: 4, ...limits });
  undo.push(() => database.close());
  return { folder, template, scratch, temporal, database };
}

/** A hold may outlive its expiry by one sweep, on a busy machine by a slow one. */
const sweepGraceSeconds = 10;
/** How long a machine may stand still, so that no sweep runs. */
const standstillMs = 30_000;

/** The report of the ledger. A hold that outlives its expiry has the time of a standstill to be swept. */
async function verifySweptLedger(database: Database): Promise<LedgerReport> {
  for (const until = Date.now() + standstillMs; ; await sleep(250)) {
    const report = await verifyLedger(database, sweepGraceSeconds);
    if (report.invariants['C5']?.breaches === 0 || Date.now() > until) return report;
  }
}

/** For the message of a test that waited in vain. */
const logTails = (folder: string): string =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.log'))
    .map((name) => {
      const lines = readFileSync(join(folder, name), 'utf8').trim().split('\n').slice(-8);
      return [join(folder, name), ...lines.map((line) => `  ${line.slice(0, 400)}`)].join('\n');
    })
    .join('\n');

/** Waits for all, so that a failing one leaves none behind that is still starting; then rejects with the first failure. */
async function all(work: readonly Promise<unknown>[]): Promise<void> {
  await Promise.allSettled(work);
  await Promise.all(work);
}
