import { createHash } from 'node:crypto';
import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { checkTemporal, temporalRelease } from './find-temporal.mjs';
import { say } from './run-with-progress.mjs';

/**
 * Downloads the Temporal CLI from its vendor into the folder `work`. The file is written and run only if its SHA-256 is the pinned one.
 *
 * @param {string} work
 * @param {NodeJS.ProcessEnv} _env
 * @param {typeof globalThis.fetch} fetch of a test instead of the one of Node.js
 * @returns {Promise<string | null>} the checked binary, or null after one line that says why there is none
 */
export async function downloadArchive(work, _env, fetch = globalThis.fetch) {
  const arch = { x64: 'amd64', arm64: 'arm64' }[process.arch];
  const pinned = temporalRelease.sha256[`${process.platform}-${process.arch}`];
  if (!arch || !pinned) return null;
  const file = join(work, 'temporal');
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
    // gunzip checks the archive's length and checksum, so an incomplete download stops here.
    const binary = fileFromTar(gunzipSync(packed, { maxOutputLength: 1_000_000_000 }), String(fileToExtract));
    const sha256 = createHash('sha256').update(binary).digest('hex');
    if (sha256 !== pinned) throw new Error(`its SHA-256 is ${sha256}, expected ${pinned}`);
    writeFileSync(file, binary);
    chmodSync(file, 0o755);
    const checked = checkTemporal(file);
    if (!('version' in checked)) throw new Error(`the downloaded file ${checked.problem}`);
    return file;
  } catch (error) {
    say(`the Temporal server could not be downloaded (${error.cause?.code ?? error.message})`);
    rmSync(file, { force: true });
    return null;
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
