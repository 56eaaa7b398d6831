import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { Disk } from 'flydrive';
import { FSDriver } from 'flydrive/drivers/fs';
import type { S3Settings } from './file-place-s3.ts';
import { type ByteRange, FileMissingError, type FilePlace } from './file-place.ts';

export { FileMissingError, type ByteRange };

/** Where stored files live; named as in the configuration. */
export interface FileStoreSettings extends S3Settings {
  FILES_DRIVER: 'local' | 's3';
  /** Of the local driver; what is on its way lies there whatever the driver is. */
  FILES_LOCAL_DIR: string;
}

export interface PutOptions {
  maxBytes: number;
  contentType: string;
  /** Ends the put; nothing is kept. */
  signal?: AbortSignal;
  /** So many of the first bytes are handed back, for whoever would read them again at once. None when absent. */
  headBytes?: number;
}

export interface Stored {
  bytes: number;
  /** Hex. */
  sha256: string;
  /** The first `headBytes` of the file, or all of it when it is shorter. */
  head: Buffer;
}

/** Keys are made by us (`outputs/file_….png`), never taken from user text; another shape is a bug and throws. */
export interface FileStore {
  /**
   * Stores the whole stream under `key`, or nothing: a reader never sees half a file, and an overwritten file stays until
   * the new one is complete. Throws `FileTooLargeError` past `maxBytes`, or what the stream threw.
   */
  put(key: string, source: AsyncIterable<Buffer> | Buffer, options: PutOptions): Promise<Stored>;
  /** The bytes, or one range of them. Throws `FileMissingError`. The caller must read or destroy the stream. */
  open(key: string, range?: ByteRange): Promise<Readable>;
  /** Size and existence in one look; null says not there. */
  stat(key: string): Promise<{ bytes: number } | null>;
  exists(key: string): Promise<boolean>;
  /** Deleting what is not there changes nothing. */
  delete(key: string): Promise<void>;
}

/** The source held more than the put allowed. */
export class FileTooLargeError extends Error {
  override readonly name = 'FileTooLargeError';
}

/** Opens the configured store. */
export async function createFileStore(settings: FileStoreSettings): Promise<FileStore> {
  const root = resolve(settings.FILES_LOCAL_DIR);
  const place = settings.FILES_DRIVER === 's3' ? await openS3Place(settings) : localPlace(root);
  // Inside the root, so that a rename to a key never crosses file systems, and where there is room for a film.
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
        await place.publish(spool, key, { contentType, bytes: written.bytes, signal });
        return written;
      } catch (error) {
        await rm(spool, { force: true });
        throw error;
      }
    },
    async open(key, range) {
      assertKey(key);
      return place.open(key, range);
    },
    async stat(key) {
      assertKey(key);
      try {
        const { contentLength } = await place.disk.getMetaData(key);
        return { bytes: contentLength };
      } catch (error) {
        if (await place.disk.exists(key)) throw error;
        return null;
      }
    },
    async exists(key) {
      assertKey(key);
      return place.disk.exists(key);
    },
    async delete(key) {
      assertKey(key);
      try {
        await place.disk.delete(key);
      } catch (error) {
        // Some stores call it an error that there was nothing to delete.
        if (await place.disk.exists(key)) throw error;
      }
    },
  };
}

/** The AWS packages take a tenth of a second to load, so they are loaded where they are used. */
async function openS3Place(settings: S3Settings): Promise<FilePlace> {
  const { s3Place } = await import('./file-place-s3.ts');
  return s3Place(settings);
}

function localPlace(root: string): FilePlace {
  return {
    disk: new Disk(new FSDriver({ location: root, visibility: 'private' })),
    async publish(spool, key) {
      const path = join(root, key);
      // flydrive's own move copies and then unlinks, which shows half a file while it runs.
      await rename(spool, path).catch(async () => {
        await mkdir(dirname(path), { recursive: true });
        await rename(spool, path);
      });
    },
    async open(key, range) {
      // Opened here, for flydrive reads whole files only, and a missing file must be known before the first byte.
      const handle = await open(join(root, key)).catch((cause: unknown) => {
        throw new FileMissingError(`no stored file ${key}`, { cause });
      });
      return handle.createReadStream(range ? { start: range.start, end: range.end } : {});
    },
  };
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
      await writeWhole(handle, chunk);
    }
    signal?.throwIfAborted();
    // On disk before it has a name, because a task is charged on the word of this copy.
    await handle.sync();
  } finally {
    await handle.close();
  }
  return { bytes, sha256: hash.digest('hex'), head: Buffer.concat(head).subarray(0, headBytes) };
}

/** A single write may take less than it was given. */
async function writeWhole(handle: FileHandle, chunk: Buffer): Promise<void> {
  for (let written = 0; written < chunk.length;) {
    const { bytesWritten } = await handle.write(chunk, written);
    written += bytesWritten;
  }
}

/** Removes what a killed process left behind: spool files untouched for a day. */
async function removeLeftovers(directory: string): Promise<void> {
  const oldest = Date.now() - 86_400_000;
  const names = (await readdir(directory)).filter((name) => name.startsWith(SPOOL_PREFIX)).slice(0, LEFTOVERS_MAX);
  for (const name of names) {
    const path = join(directory, name);
    // Another process may be sweeping too.
    const modified = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => Infinity,
    );
    if (modified < oldest) await rm(path, { force: true });
  }
}

const SPOOL_PREFIX = 'tollgate-';
const LEFTOVERS_MAX = 10_000;

function assertKey(key: string): void {
  if (key.length > 200 || !/^[a-z0-9_-]+(\/[a-z0-9_-]+)*(\.[a-z0-9]{1,8})?$/i.test(key) || key.startsWith('tmp/')) {
    throw new Error('not a file key of ours');
  }
}
