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
  /** Makes the finished spool file visible under `key`, all at once; then the spool file is gone. */
  publish(spool: string, key: string, options: PublishOptions): Promise<void>;
  /** Throws `FileMissingError`. */
  open(key: string, range: ByteRange | undefined): Promise<Readable>;
}

export interface PublishOptions {
  contentType: string;
  bytes: number;
  /** Ends what takes time. */
  signal?: AbortSignal | undefined;
}

/** There is no file under this key. */
export class FileMissingError extends Error {
  override readonly name = 'FileMissingError';
}
