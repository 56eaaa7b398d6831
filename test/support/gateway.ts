import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { adapterFamilies } from '../../src/channels/registry.ts';
import { addCredits } from '../../src/commands/add-credits.ts';
import { applyCatalog } from '../../src/commands/apply-catalog.ts';
import { createCatalogCache } from '../../src/commands/catalog-cache.ts';
import { createKey } from '../../src/commands/create-key.ts';
import { createProject } from '../../src/commands/create-project.ts';
import { ensureChannel } from '../../src/commands/ensure-channel.ts';
import { loadConfig } from '../../src/config.ts';
import { openDatabase, type Database } from '../../src/db/database.ts';
import { migrate } from '../../src/db/migrate.ts';
import { verifyLedger, type LedgerReport } from '../../src/db/verify-ledger.ts';
import { choosePort } from '../../src/main/servers/choose-port.ts';
import { createSealer } from '../../src/platform/seal.ts';
import { projectFolder, startProgram, type Program } from './program.ts';
import { createScratchDatabase, type ScratchDatabase } from './scratch-database.ts';
import { createTemporalNamespace, type TemporalNamespace } from './temporal-namespace.ts';

export interface GatewayOptions {
  /** Beside or instead of the quick settings below. */
  env?: Record<string, string>;
  /** How many of each to start; 1 when absent. */
  apis?: number;
  workers?: number;
  sandbox?: boolean;
}

/** A whole gateway: real processes over a database and a Temporal namespace of its own. */
export interface Gateway {
  /** The first API; `baseUrls` has all of them. */
  baseUrl: string;
  baseUrls: string[];
  sandboxUrl: string;
  database: Database;
  databaseUrl: string;
  temporal: TemporalNamespace;
  /** What the processes run with: for a command or a process that a test starts by itself. */
  env: Record<string, string>;
  /** Where the logs of the processes are. */
  logFolder: string;
  /** A project with credits and one key. */
  project(options?: ProjectOptions): Promise<TestProject>;
  key(projectId: string, options?: KeyOptions): Promise<{ keyId: string; apiKey: string }>;
  /** Sends a create, to the first API unless `baseUrl` says otherwise. */
  create(apiKey: string, route: string, body: unknown, options?: CreateOptions): Promise<Answer>;
  get(apiKey: string, path: string): Promise<Answer>;
  /** Polls a task until it has ended, or until `until` is content. */
  poll(apiKey: string, taskId: string, options?: PollOptions): Promise<Task>;
  /** What the sandbox was called with, of the prompts that contain this text. */
  hits(text: string, kind?: Hit['kind']): Promise<Hit[]>;
  /** The books, added up; `ok` is the promise. */
  verifyLedger(): Promise<LedgerReport>;
  /** `api-1`, `worker-1`, `sandbox`. Resolves when it is gone. */
  kill(name: string, signal?: NodeJS.Signals): Promise<void>;
  /** Starts one more of them and answers its name. */
  startApi(): Promise<string>;
  startWorker(): Promise<string>;
  startSandbox(): Promise<void>;
  pids(): Record<string, number>;
  /** Ends the processes and drops the database. The logs stay when `keepLogs`. */
  stop(): Promise<void>;
}

/**
 * Starts one, with the catalog and the sandbox's channels as `npm start` has them, and timings short enough for a test.
 * Whatever fails on the way, nothing is left running.
 */
export async function startGateway(options: GatewayOptions = {}): Promise<Gateway> {
  const { apis = 1, workers = 1, sandbox = true } = options;
  const parts = new Parts();
  try {
    const [scratch, temporal] = await Promise.all([createScratchDatabase(), createTemporalNamespace()].map(settled)).then(
      () => Promise.all([parts.scratch(createScratchDatabase()), parts.temporal(createTemporalNamespace())]),
    );
    return await assemble({ scratch, temporal, options: { ...options, apis, workers, sandbox }, parts });
  } catch (error) {
    await parts.stop();
    throw error;
  }
}
