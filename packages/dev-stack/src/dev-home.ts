import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { takeHomeLock, type HomeLock } from './home-lock.ts';
import { StartRefused } from './start-refused.ts';
import { writePrivate } from '../../../src/main/dev-home/json-file.ts';

/** The content of dev.json, for tools that use a running stack. */
export interface DevFacts {
  base_url: string;
  api_key: string;
  project_id: string;
  internal_job_token: string;
  webhook_secret: string;
  database_url: string;
  temporal_address: string;
  temporal_ui_url: string;
  sandbox_url: string;
  /** An owner's token for the admin API, valid until the next start. */
  admin_token: string;
  console_url: string;
}

const devFile = (home: string) => join(home, 'dev.json');

/** Writes dev.json, with the process id of each child. */
export function writeDevFacts(home: string, facts: DevFacts, pids: Record<string, number>): void {
  writePrivate(devFile(home), { ...facts, pids: { supervisor: process.pid, ...pids } });
}

export const removeDevFacts = (home: string): void => rmSync(devFile(home), { force: true });

/** Creates the state folder and locks it. Throws `StartRefused` if another `npm start` uses it. */
export function claimHome(home: string, say: (text: string) => void): Extract<HomeLock, { kind: 'taken' }> {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const lock = takeHomeLock(home);
  if (lock.kind === 'running') {
    const where = existsSync(devFile(home)) ? `; ${devFile(home)} has its addresses` : '';
    throw new StartRefused(
      `already running on ${home} (process ${lock.pid})${where}. Stop it first, or set TOLLGATE_HOME to another folder.`,
    );
  }
  if (lock.tookOverFrom !== null)
    say(`the earlier run (process ${lock.tookOverFrom}) did not stop cleanly; taking over`);
  return lock;
}

const stateNames = /^(postgres(\.new)?|temporal-.*|files|logs|(secrets|demo|dev|children)\.json|initdb-.*\.log)$/;

/** Removes the stack's own files only, because TOLLGATE_HOME may name a folder that has other files. */
export function removeState(home: string): void {
  for (const name of readdirSync(home).filter((entry) => stateNames.test(entry))) {
    rmSync(join(home, name), { recursive: true, force: true, maxRetries: 3 });
  }
}
