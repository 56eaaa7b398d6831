import type { Readable } from 'node:stream';
import type { Disk } from 'flydrive';

/** First and last byte, both inclusive, as in an HTTP range. */
export interface ByteRange {
  start: number;
  end: number;
}

/** The operations that differ between a folder and a bucket. `createFileStore` uses them. */
export interface FileBackend {
  disk: Disk;
  /** Moves the finished spool file to `key` atomically. */
  publish(spool: string, key: string, options: PublishOptions): Promise<void>;
  /** Throws `FileMissingError`. */
  open(key: string, range: ByteRange | undefined): Promise<Readable>;
}

export interface PublishOptions {
  contentType: string;
  bytes: number;
  /** Aborts the operation. */
  signal?: AbortSignal | undefined;
}

/** There is no file under this key. */
export class FileMissingError extends Error {
  override readonly name = 'FileMissingError';
}
