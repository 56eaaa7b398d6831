import { spawnSync } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';

/**
 * Finds a Temporal server on the PATH or in the user's cache. Runs every candidate once, so that a truncated binary or another program
 * is never returned. Plain Node 20, because it also runs before the packages are installed.
 *
 * @param {{ env?: Record<string, string | undefined> }} [options]
 * @returns {{ path: string, version: string, source: 'PATH' | 'cache' } | null} null when there is no usable one
 */
export function findTemporal({ env = process.env } = {}) {
  for (const folder of (env.PATH ?? '').split(delimiter).filter(Boolean)) {
    const found = checkTemporal(join(folder, 'temporal'));
    if ('version' in found) return { ...found, source: 'PATH' };
  }
  for (const { version } of [temporalRelease, temporalSource]) {
    const found = checkTemporal(cachedTemporal(env, version));
    if ('version' in found) return { ...found, source: 'cache' };
  }
  return null;
}

/** The CLI that is downloaded when the machine has none. Newer ones cost more CPU (docs/DECISIONS.md, "Production"). */
export const temporalRelease = { version: '1.6.2' };

/** The newest CLI that `go install` can build: from 1.6 on its go.mod replaces a module that is not published. */
export const temporalSource = { version: '1.5.1', module: 'github.com/temporalio/cli/cmd/temporal' };

/**
 * Whether this file is a Temporal CLI that runs here and is new enough. Never throws.
 *
 * @param {string} path
 * @returns {{ path: string, version: string } | { path: string, problem: string }}
 */
export function checkTemporal(path) {
  try {
    accessSync(path, constants.X_OK);
    if (!statSync(path).isFile()) return { path, problem: 'is not a file' };
  } catch {
    return { path, problem: 'does not exist or is not executable' };
  }
  // The empty environment hides the user's configuration, which could make even --version fail.
  const run = spawnSync(path, ['--version'], { encoding: 'utf8', timeout: 15_000, maxBuffer: 64_000, env: {} });
  const match = /version (\S+) \(Server (\d+)\.(\d+)\.(\d+)/.exec(run.stdout ?? '');
  if (run.error || run.status !== 0 || !match) return { path, problem: 'does not run' };
  const [, cli, major, minor, patch] = match;
  // A CLI built from source calls itself 0.0.0-DEV, so the server inside decides.
  if (Number(major) < 1 || (Number(major) === 1 && Number(minor) < 29)) return { path, problem: `is too old (${cli})` };
  return { path, version: `${cli}-${major}.${minor}.${patch}` };
}

/**
 * The file in the user's cache that holds a downloaded or built CLI.
 *
 * @param {Record<string, string | undefined>} env
 * @param {string} [version]
 */
export function cachedTemporal(env, version = temporalRelease.version) {
  return join(cacheFolder(env), `temporal-${version}`);
}

/** @param {Record<string, string | undefined>} env */
export function cacheFolder(env) {
  const home = env.HOME || homedir();
  const base =
    env.XDG_CACHE_HOME || (process.platform === 'darwin' ? join(home, 'Library', 'Caches') : join(home, '.cache'));
  return join(base, 'tollgate');
}
