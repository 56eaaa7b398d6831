import type { Readable } from 'node:stream';
import type { Disk } from 'flydrive';

/** First and last byte, both included, as in an HTTP range. */
export interface ByteRange {
  start: number;
  end: number;
}

/** What differs between a folder and a bucket, behind `createFileStore`. */
export interface FilePlace {
  disk: Disk;
  /** A local folder: a stream is counted and hashed there before anything appears under its key. */
  spoolDirectory: string;
  /** Makes the finished spool file visible under `key`, all at once; then the spool file is gone. */
  publish(spool: string, key: string, about: { contentType: string; bytes: number }): Promise<void>;
  /** Throws `FileMissingError`. */
  open(key: string, range: ByteRange | undefined): Promise<Readable>;
}

/** There is no file under this key. */
export class FileMissingError extends Error {
  override readonly name = 'FileMissingError';
}
