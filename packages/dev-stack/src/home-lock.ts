import { randomBytes } from 'node:crypto';
import { linkSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { processStart } from './processes/process-identity.ts';
import { parseJson, readTextFile } from '../../../src/main/dev-home/json-file.ts';

export type HomeLock =
  | { kind: 'taken'; tookOverFrom: number | null; release(): void }
  /** Another `npm start` uses this folder. */
  | { kind: 'running'; pid: number };

/**
 * Locks a state folder for this process, so that two starts never share one. Takes over the lock of a process that has ended, even if
 * another program has its process id by now.
 */
export function takeHomeLock(home: string): HomeLock {
  const file = join(home, 'lock');
  const mine = JSON.stringify({
    pid: process.pid,
    start: processStart(process.pid) ?? '',
    nonce: randomBytes(8).toString('hex'),
  });
  let tookOverFrom: number | null = null;
  for (let tries = 0; tries < triesMax; tries++) {
    if (createWhole(file, mine)) return { kind: 'taken', tookOverFrom, release: () => releaseOwn(file, mine) };
    const text = readTextFile(file);
    if (text === null) continue;
    const owner = parseJson(Owner, text);
    if (owner !== null && owner.start === processStart(owner.pid)) return { kind: 'running', pid: owner.pid };
    if (moveAside(file, text)) tookOverFrom = owner?.pid ?? 0;
  }
  throw new Error(
    `The lock ${file} was taken by other processes several times. Does a program start Tollgate in a loop?`,
  );
}

const Owner = z.object({ pid: z.number().int(), start: z.string().min(1) });
const triesMax = 20;

/** Creates the complete lock file atomically. False if one exists. */
function createWhole(file: string, text: string): boolean {
  const draft = `${file}.${process.pid}-${randomBytes(4).toString('hex')}`;
  writeFileSync(draft, text, { mode: 0o600 });
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if (typeof error === 'object' && error !== null && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Removes a stale lock. If another process has replaced it since it was read, that lock is put back. */
function moveAside(file: string, stale: string): boolean {
  const aside = `${file}.stale-${process.pid}-${randomBytes(4).toString('hex')}`;
  try {
    renameSync(file, aside);
  } catch {
    return false;
  }
  const moved = readTextFile(aside);
  if (moved !== null && moved !== stale) createWhole(file, moved);
  rmSync(aside, { force: true });
  return moved === stale;
}

function releaseOwn(file: string, mine: string): void {
  if (readTextFile(file) === mine) rmSync(file, { force: true });
}
