import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { say } from './run-with-progress.mjs';

/**
 * Runs `work` while no other process does the same, so that concurrent starts install or build once. Takes over the lock of a process
 * that has ended. The lock only saves work: results are complete because each is put in place by one rename.
 *
 * @template T
 * @param {string} folder the lock: a directory that this function makes and removes
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withLock(folder, work) {
  const waitUntil = Date.now() + 30 * 60_000;
  for (let isReported = false; !take(folder); isReported = true) {
    if (Date.now() > waitUntil)
      throw new Error(
        `Another process has held ${folder} for half an hour. Remove the folder if no such process runs.`,
      );
    if (!isReported) say('another process is already preparing this; waiting for it …');
    await sleep(500);
  }
  const release = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', release);
  try {
    return await work();
  } finally {
    process.off('exit', release);
    release();
  }
}

function take(folder) {
  try {
    mkdirSync(folder);
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    if (isStale(folder)) discard(folder);
    return false;
  }
  writeFileSync(join(folder, 'pid'), String(process.pid));
  return true;
}

function isStale(folder) {
  try {
    const pid = Number(readFileSync(join(folder, 'pid'), 'utf8'));
    if (pid > 0) return !isAlive(pid);
  } catch {
    // The owner may have created the folder and not yet written its pid.
  }
  try {
    return Date.now() - statSync(folder).mtimeMs > 10_000;
  } catch {
    return false;
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function discard(folder) {
  const aside = `${folder}.stale-${process.pid}`;
  try {
    renameSync(folder, aside);
    rmSync(aside, { recursive: true, force: true });
  } catch {
    // Another waiting process has removed it.
  }
}
