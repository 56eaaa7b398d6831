import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Database } from '../../src/db/database.ts';
import { createTestDatabase } from './database.ts';
import { quickSettings } from './gateway-settings.ts';

/** A database and a folder of one test, and the settings of a command that uses them. */
export interface TestHome {
  db: Database;
  /** Of the owner of the tables. */
  databaseUrl: string;
  settings: Record<string, string>;
  drop(): Promise<void>;
}

/** Creates a database and a folder. `own` adds to the usual settings or replaces them. */
export async function createTestHome(own: Record<string, string> = {}): Promise<TestHome> {
  const books = await createTestDatabase();
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-home-'));
  // A process that pauses for three seconds would take a database that has answered for one that is away.
  const { DATABASE_STATEMENT_TIMEOUT_MS, DATABASE_CONNECT_TIMEOUT_MS } = quickSettings;
  return {
    db: await books.open(),
    databaseUrl: books.url,
    settings: {
      DATABASE_URL: books.runtimeUrl,
      DATABASE_STATEMENT_TIMEOUT_MS,
      DATABASE_CONNECT_TIMEOUT_MS,
      KEY_PEPPERS: `p1:${randomBytes(32).toString('base64')}`,
      MASTER_KEYS: `k1:${randomBytes(32).toString('base64')}`,
      // No server listens on this port. Only commands that need Temporal may fail.
      TEMPORAL_ADDRESS: '127.0.0.1:1',
      TOLLGATE_HOME: folder,
      ...own,
    },
    async drop() {
      await books.drop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
