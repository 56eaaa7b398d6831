import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  createFileStore,
  FileMissingError,
  type FileStore,
  type FileStoreSettings,
  FileTooLargeError,
} from '../../../src/platform/files/file-store.ts';
import { probeStored } from '../../../src/platform/media/probe-media.ts';
import { filesBelow } from '../../support/files-below.ts';

export const KEY = 'outputs/file_01.png';
export const options = { maxBytes: 1_000_000, contentType: 'image/png' };

/** The storage of one driver, empty at the start of each test. */
export interface BackendUnderTest {
  settings: Omit<FileStoreSettings, 'localDir'>;
  /** The keys of the files that are not below the local directory. */
  keys(): string[];
  close(): Promise<void>;
}

/** The contract of every driver. */
export function describeFileStore(driver: string, openBackend: () => Promise<BackendUnderTest>): void {
  describe(`createFileStore, ${driver}`, () => {
    let backend: BackendUnderTest;
    let directory: string;
    let store: FileStore;

    beforeEach(async () => {
      backend = await openBackend();
      directory = await mkdtemp(join(tmpdir(), 'tollgate-files-'));
      store = await createFileStore({ ...backend.settings, localDir: directory });
    });
    afterEach(async () => {
      await backend.close();
      await rm(directory, { recursive: true, force: true });
    });

    /** All files, including incomplete ones. */
    const everyFile = async () => [...backend.keys(), ...(await filesBelow(directory))];

    it('stores a buffer or a stream and returns its size and hash', async () => {
      const bytes = randomBytes(300_000);
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      const none = Buffer.alloc(0);
      expect(await store.put(KEY, bytes, options)).toEqual({ bytes: 300_000, sha256, head: none });
      const stored = await store.put('outputs/file_02.png', inPieces(bytes), options);
      expect(stored).toEqual({ bytes: 300_000, sha256, head: none });
      expect((await buffer(await store.open('outputs/file_02.png'))).equals(bytes)).toBe(true);
      expect(await store.stat(KEY)).toEqual({ bytes: 300_000 });
      expect(await everyFile()).toHaveLength(2);
    });

    it('reads any range, both ends included', async () => {
      await store.put(KEY, Buffer.from('0123456789'), options);
      const text = async (start: number, end: number) =>
        (await buffer(await store.open(KEY, { start, end }))).toString();
      expect(await text(0, 0)).toBe('0');
      expect(await text(2, 5)).toBe('2345');
      expect(await text(8, 100)).toBe('89');
    });

    it('does not mix up ranges and whole files that are read at the same time', async () => {
      const bytes = randomBytes(100_000);
      await store.put(KEY, bytes, options);
      const read = async (start: number) => {
        const range = { start, end: start + 999 };
        const [part, whole] = await Promise.all(
          [store.open(KEY, range), store.open(KEY)].map(async (it) => buffer(await it)),
        );
        return part?.equals(bytes.subarray(start, start + 1_000)) === true && whole?.equals(bytes) === true;
      };
      const reads = await Promise.all(Array.from({ length: 40 }, (_, at) => read(at * 2_000)));
      expect(reads).toEqual(reads.map(() => true));
    });

    it('stores an empty file', async () => {
      await store.put(KEY, Buffer.alloc(0), options);
      expect(await store.stat(KEY)).toEqual({ bytes: 0 });
      expect(await buffer(await store.open(KEY))).toHaveLength(0);
    });

    it('leaves no file if the source breaks off', async () => {
      const broken = Readable.from(
        (function* () {
          yield Buffer.alloc(100_000);
          throw new Error('the upstream broke off');
        })(),
      );
      await expect(store.put(KEY, broken, options)).rejects.toThrow('the upstream broke off');
      expect(await everyFile()).toEqual([]);
      expect(await store.exists(KEY)).toBe(false);
    });

    it('leaves no file if a put is aborted', async () => {
      const controller = new AbortController();
      const endless = Readable.from(
        (async function* () {
          for (let count = 0; count < 1_000; count += 1) {
            if (count === 5) controller.abort();
            yield Buffer.alloc(1_000);
            await new Promise((resolve) => setImmediate(resolve));
          }
        })(),
      );
      await expect(store.put(KEY, endless, { ...options, signal: controller.signal })).rejects.toThrow();
      expect(await everyFile()).toEqual([]);
      expect(endless.destroyed).toBe(true);
    });

    it('refuses a source that is too large, keeps nothing and destroys the source', async () => {
      const source = inPieces(Buffer.alloc(200_001));
      await expect(store.put(KEY, source, { ...options, maxBytes: 200_000 })).rejects.toThrow(FileTooLargeError);
      expect(await everyFile()).toEqual([]);
      expect(source.destroyed).toBe(true);
      expect(await store.put(KEY, Buffer.alloc(200_000), { ...options, maxBytes: 200_000 })).toMatchObject({
        bytes: 200_000,
      });
    });

    it('keeps the old file until a new one under the same key is complete', async () => {
      await store.put(KEY, Buffer.from('old'), options);
      await expect(store.put(KEY, inPieces(Buffer.alloc(2_000_000)), options)).rejects.toThrow(FileTooLargeError);
      expect((await buffer(await store.open(KEY))).toString()).toBe('old');
      await store.put(KEY, Buffer.from('new'), options);
      expect((await buffer(await store.open(KEY))).toString()).toBe('new');
    });

    it('allows a stored file to be probed in pieces', async () => {
      const wav = Buffer.alloc(44 + 8_000);
      wav.write('RIFF', 0, 'latin1');
      wav.write('WAVEfmt ', 8, 'latin1');
      wav.writeUInt32LE(16, 16);
      wav.writeUInt32LE(8_000, 28);
      wav.write('data', 36, 'latin1');
      wav.writeUInt32LE(8_000, 40);
      const { bytes } = await store.put(KEY, wav, options);
      expect(await probeStored(store, KEY, bytes)).toMatchObject({ mime_type: 'audio/wav', duration: 1 });
      await store.put(KEY, Buffer.alloc(0), options);
      expect(await probeStored(store, KEY, 0)).toBeNull();
    });

    it('returns the requested first bytes, which a probe then does not read again', async () => {
      const png = Buffer.alloc(100_000);
      Buffer.from('89504e470d0a1a0a0000000d494844520000000200000003', 'hex').copy(png);
      const { head, bytes } = await store.put(KEY, inPieces(png), { ...options, headBytes: 70_000 });
      expect(head.equals(png.subarray(0, 70_000))).toBe(true);
      const whole = await store.put(KEY, inPieces(png), { ...options, headBytes: 200_000 });
      expect(whole.head.equals(png)).toBe(true);
      const unreadable = { open: () => Promise.reject(new Error('read again')) };
      expect(await probeStored(unreadable, KEY, bytes, whole.head)).toMatchObject({ width: 2, height: 3 });
      await expect(probeStored(unreadable, KEY, bytes, head)).rejects.toThrow('read again');
    });

    it('reports a missing file', async () => {
      expect(await store.stat(KEY)).toBeNull();
      expect(await store.exists(KEY)).toBe(false);
      await expect(store.open(KEY)).rejects.toThrow(FileMissingError);
      await store.delete(KEY);
    });

    it('deletes a file completely, and accepts a repeated delete', async () => {
      await store.put(KEY, Buffer.from('x'), options);
      await store.delete(KEY);
      expect(await everyFile()).toEqual([]);
      expect(await store.exists(KEY)).toBe(false);
      await store.delete(KEY);
    });

    it.each([
      '',
      '../x',
      'a/../b',
      '/etc/passwd',
      'a//b',
      'tmp/x',
      'a b',
      'a\\b',
      'a\u0000',
      '.hidden',
      'x'.repeat(300),
    ])('refuses a key that we did not generate: %j', async (key) => {
      await expect(store.put(key, Buffer.from('x'), options)).rejects.toThrow('not a file key');
      await expect(store.open(key)).rejects.toThrow('not a file key');
      expect(await everyFile()).toEqual([]);
    });

    it('deletes files that a killed process left a day ago, and no younger ones', async () => {
      const [old, young] = [join(directory, 'tmp', 'tollgate-old'), join(directory, 'tmp', 'tollgate-young')];
      await Promise.all([writeFile(old, 'x'), writeFile(young, 'x')]);
      await utimes(old, 1, 1);
      await createFileStore({ ...backend.settings, localDir: directory });
      expect(await everyFile()).toEqual(['tollgate-young']);
    });
  });
}

export function inPieces(bytes: Buffer): Readable {
  return Readable.from(
    (function* () {
      for (let at = 0; at < bytes.length; at += 50_000) yield bytes.subarray(at, at + 50_000);
    })(),
  );
}
