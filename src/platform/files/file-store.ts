import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { Disk } from 'flydrive';
import { FSDriver } from 'flydrive/drivers/fs';
import type { S3Settings } from './file-backend-s3.ts';
import { type ByteRange, FileMissingError, type FileBackend } from './file-backend.ts';

export { FileMissingError, type ByteRange };

/** Each reader that does not read keeps a few of these in memory. Node's usual 64 kB would be 160 MB for 500 readers. */
const READ_BYTES = 32_768;

/** Where files are stored. */
export interface FileStoreSettings extends S3Settings {
  driver: 'local' | 's3';
  /** The folder of the local driver. With either driver, incoming files are first written into it. */
  localDir: string;
}

export interface PutOptions {
  maxBytes: number;
  contentType: string;
  /** Aborts the put. Nothing is stored. */
  signal?: AbortSignal;
  /** How many of the first bytes to return, for a caller that would read them again. Default: none. */
  headBytes?: number;
}

export interface Stored {
  bytes: number;
  /** Hex. */
  sha256: string;
  /** The first `headBytes` of the file, or the whole file if it is shorter. */
  head: Buffer;
}

/** Tollgate makes the keys (`outputs/file_….png`) and never takes them from user input. A key of another format throws. */
export interface FileStore {
  /**
   * Stores the whole stream under `key`, or nothing. A reader never sees a partial file, and an overwritten file stays until the new
   * one is complete. Throws `FileTooLargeError` beyond `maxBytes`, or the error of the stream.
   */
  put(key: string, source: AsyncIterable<Buffer> | Buffer, options: PutOptions): Promise<Stored>;
  /** The bytes of the file or of one range. Throws `FileMissingError`. The caller must read or destroy the stream. */
  open(key: string, range?: ByteRange): Promise<Readable>;
  /** The size of the file, or null if it does not exist. */
  stat(key: string): Promise<{ bytes: number } | null>;
  exists(key: string): Promise<boolean>;
  /** Deletes a file. Deleting a missing file does nothing. */
  delete(key: string): Promise<void>;
  /** The keys of all stored files, in no order. A key that Tollgate did not make may be among them. */
  keys(): AsyncIterable<string>;
  /** The free bytes of the disk under `localDir`, through which every file goes. */
  freeBytes(): Promise<number>;
}

/** The source has more bytes than the put allows. */
export class FileTooLargeError extends Error {
  override readonly name = 'FileTooLargeError';
}

/** Opens the configured store. */
export async function createFileStore(settings: FileStoreSettings): Promise<FileStore> {
  const root = resolve(settings.localDir);
  const backend = settings.driver === 's3' ? await openS3Backend(settings) : localBackend(root);
  // Inside the root, so that the rename to a key stays in one file system and a video fits.
  const spoolDirectory = join(root, 'tmp');
  await mkdir(spoolDirectory, { recursive: true });
  await removeLeftovers(spoolDirectory);

  return {
    async put(key, source, options) {
      assertKey(key);
      const spool = join(spoolDirectory, `${SPOOL_PREFIX}${randomUUID()}`);
      try {
        const written = await writeSpool(spool, source, options);
        const { contentType, signal } = options;
        await backend.publish(spool, key, { contentType, bytes: written.bytes, signal });
        return written;
      } catch (error) {
        await rm(spool, { force: true });
        throw error;
      }
    },
    keys: () => keysOf(backend.disk),
    async freeBytes() {
      const { bavail, bsize } = await statfs(root);
      return bavail * bsize;
    },
    async open(key, range) {
      assertKey(key);
      return backend.open(key, range);
    },
    async stat(key) {
      assertKey(key);
      try {
        const { contentLength } = await backend.disk.getMetaData(key);
        return { bytes: contentLength };
      } catch (error) {
        if (await backend.disk.exists(key)) throw error;
        return null;
      }
    },
    async exists(key) {
      assertKey(key);
      return backend.disk.exists(key);
    },
    async delete(key) {
      assertKey(key);
      try {
        await backend.disk.delete(key);
      } catch (error) {
        // Some stores report a missing file as an error.
        if (await backend.disk.exists(key)) throw error;
      }
    },
  };
}

/** Loaded on demand, because the AWS packages take a tenth of a second to load. */
async function openS3Backend(settings: S3Settings): Promise<FileBackend> {
  const { s3Backend } = await import('./file-backend-s3.ts');
  return s3Backend(settings);
}

function localBackend(root: string): FileBackend {
  return {
    disk: new Disk(new FSDriver({ location: root, visibility: 'private' })),
    async publish(spool, key) {
      const path = join(root, key);
      // flydrive's own move copies and then unlinks, which exposes a partial file.
      await rename(spool, path).catch(async () => {
        await mkdir(dirname(path), { recursive: true });
        await rename(spool, path);
      });
    },
    async open(key, range) {
      // Opened here, because flydrive reads whole files only, and a missing file must be known before the first byte.
      const handle = await open(join(root, key)).catch((cause: unknown) => {
        throw new FileMissingError(`no stored file ${key}`, { cause });
      });
      const span = range ? { start: range.start, end: range.end } : {};
      return handle.createReadStream({ highWaterMark: READ_BYTES, ...span });
    },
  };
}

async function* keysOf(disk: Disk): AsyncGenerator<string> {
  let paginationToken: string | undefined;
  do {
    const page = await disk.listAll('/', { recursive: true, ...(paginationToken && { paginationToken }) });
    for (const object of page.objects) {
      if (object.isFile && !object.key.startsWith('tmp/')) yield object.key;
    }
    paginationToken = page.paginationToken;
  } while (paginationToken);
}

async function writeSpool(
  path: string,
  source: AsyncIterable<Buffer> | Buffer,
  { maxBytes, signal, headBytes = 0 }: PutOptions,
): Promise<Stored> {
  const hash = createHash('sha256');
  const head: Buffer[] = [];
  let bytes = 0;
  const handle = await open(path, 'wx', 0o600);
  try {
    for await (const chunk of Buffer.isBuffer(source) ? [source] : source) {
      signal?.throwIfAborted();
      if (bytes < headBytes) head.push(chunk);
      bytes += chunk.length;
      if (bytes > maxBytes) throw new FileTooLargeError(`more than ${maxBytes} bytes`);
      hash.update(chunk);
      await handle.appendFile(chunk);
    }
    signal?.throwIfAborted();
    // Flushed to disk before the rename, because a task is charged once this copy is stored.
    await handle.sync();
  } finally {
    await handle.close();
  }
  return { bytes, sha256: hash.digest('hex'), head: Buffer.concat(head).subarray(0, headBytes) };
}

/** Removes the spool files of killed processes: those untouched for a day. */
async function removeLeftovers(directory: string): Promise<void> {
  const oldest = Date.now() - 86_400_000;
  const names = (await readdir(directory)).filter((name) => name.startsWith(SPOOL_PREFIX)).slice(0, LEFTOVERS_MAX);
  for (const name of names) {
    const path = join(directory, name);
    // Another process may remove the same file.
    const modified = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => Infinity,
    );
    if (modified < oldest) await rm(path, { force: true });
  }
}

const SPOOL_PREFIX = 'tollgate-';
const LEFTOVERS_MAX = 10_000;

/** Whether Tollgate may have made this key. */
export const isFileKey = (key: string): boolean =>
  key.length <= 200 && /^[a-z0-9_-]+(\/[a-z0-9_-]+)*(\.[a-z0-9]{1,8})?$/i.test(key) && !key.startsWith('tmp/');

function assertKey(key: string): void {
  if (!isFileKey(key)) throw new Error('not a file key in our format');
}
