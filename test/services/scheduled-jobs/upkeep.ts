import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import type { MaintenanceDeps } from '../../../src/services/scheduled-jobs/maintenance.ts';
import { testConfig } from '../../support/test-config.ts';
import type { Database } from '../../../src/db/database.ts';
import { createFileStore } from '../../../src/platform/files/file-store.ts';
import { recount, run } from '../../db/books.ts';

export interface Upkeep extends MaintenanceDeps {
  removeFolder(): void;
}

/** The dependencies of maintenance, with a new folder. No ledger entry is too young for it. */
export async function openUpkeep(db: Database, env: Record<string, string> = {}): Promise<Upkeep> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-upkeep-'));
  const secret = Buffer.alloc(32, 5).toString('base64');
  const config = testConfig({
    DATABASE_URL: 'postgresql://unused',
    KEY_PEPPERS: `p1:${secret}`,
    MASTER_KEYS: `k1:${secret}`,
    FILES_LOCAL_DIR: folder,
    BOOKS_LAG_SECONDS: '0',
    ...env,
  });
  return {
    config,
    db,
    files: await createFileStore(config.files),
    logger: pino({ level: 'silent' }),
    removeFolder: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Changes the time of ledger entries, which the program never does. */
export async function moveEntries(db: Database, where: string, at: string): Promise<void> {
  await run(db, 'alter table ledger_entry disable trigger ledger_entry_append_only');
  await run(
    db,
    `update ledger_entry set created_at = $1, began_at = case when began_at is not null then $1::timestamptz end where ${where}`,
    [at],
  );
  await run(db, 'alter table ledger_entry enable trigger ledger_entry_append_only');
  await run(db, recount);
}

/** Moves a request with its entries, attempts and task to one moment. */
export async function moveRequest(db: Database, id: string, at: string): Promise<void> {
  await moveEntries(db, `request_id = '${id}'`, at);
  await run(db, 'update hold set created_at = $2 where id = $1', [id, at]);
  await run(db, recount);
  await run(
    db,
    'update attempt set started_at = $2, ended_at = case when outcome is not null then $2::timestamptz end where request_id = $1',
    [id, at],
  );
  await run(db, 'update task set created_at = $2, completed_at = $2 where id = $1', [id, at]);
}

/** The UTC month `count` months ago, with a moment at its begin and one at its end. */
export function monthsAgo(count: number): { month: string; first: string; last: string } {
  const now = new Date();
  const first = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - count, 1));
  const past = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - count + 1, 1));
  return {
    month: first.toISOString().slice(0, 7),
    first: first.toISOString(),
    last: new Date(past.getTime() - 100).toISOString(),
  };
}
