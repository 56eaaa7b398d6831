import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { z } from 'zod';
import { temporalRelease } from '../../scripts/find-temporal.mjs';
import { downloadArchive } from '../../scripts/temporal-archive.mjs';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-archive-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the Temporal server of the vendor', () => {
  it('is neither written nor run if its SHA-256 is not the pinned one', async () => {
    const mark = join(folder, 'was-run');
    const work = mkdtempSync(join(folder, 'refused-'));
    const program = Buffer.from(`#!/bin/sh\ntouch ${mark}\necho temporal version ${temporalRelease.version}\n`);
    expect(await downloadArchive(work, {}, vendorOf(program))).toBeNull();
    expect(readdirSync(work)).toEqual([]);
    expect(existsSync(mark)).toBe(false);
  });

  it('has a pinned SHA-256 for every platform that it is downloaded for', () => {
    expect(temporalRelease.sha256).toEqual({
      'linux-x64': expect.stringMatching(/^[0-9a-f]{64}$/),
      'linux-arm64': expect.stringMatching(/^[0-9a-f]{64}$/),
      'darwin-arm64': expect.stringMatching(/^[0-9a-f]{64}$/),
      'darwin-x64': expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });
});

describe('the packages', () => {
  it('are pinned to the exact version that the lock file has', () => {
    const Dependencies = z.object({
      dependencies: z.record(z.string(), z.string()),
      devDependencies: z.record(z.string(), z.string()),
    });
    const wanted = Dependencies.parse(read('package.json'));
    const locked = z.object({ packages: z.looseObject({ '': Dependencies }) }).parse(read('package-lock.json'));
    const { dependencies, devDependencies } = locked.packages[''];
    expect({ dependencies, devDependencies }).toEqual(wanted);
    const all = Object.entries({ ...wanted.dependencies, ...wanted.devDependencies });
    expect(all.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([]);
    expect(readFileSync('package-lock.json', 'utf8')).not.toMatch(/"resolved": "(?!packages\/)/);
  });
});

const read = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));

/** Answers as temporal.download does: where the archive is, and the archive with this program in it. */
function vendorOf(program: Buffer): (url: string) => Promise<Response> {
  const archive = gzipSync(tarOf('temporal', program));
  return (url) =>
    Promise.resolve(
      url.startsWith('https://temporal.download/')
        ? Response.json({ archiveUrl: 'https://archives.example.com/temporal.tar.gz', fileToExtract: 'temporal' })
        : new Response(new Uint8Array(archive)),
    );
}

/** A tar archive with one file (POSIX ustar). */
function tarOf(name: string, content: Buffer): Buffer {
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write(content.length.toString(8).padStart(11, '0'), 124);
  return Buffer.concat([header, content, Buffer.alloc(1_024 - (content.length % 512))]);
}
