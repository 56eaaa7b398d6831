import type { Readable } from 'node:stream';
import type { Logger } from 'pino';
import type { DetailRow } from '../commands/details/detail-recorder.ts';
import type { Deps } from '../deps.ts';
import type { Config } from '../config/load-config.ts';

/**
 * What the HTTP frame needs from the rest of the house; built in main, replaced by small honest substitutes in tests.
 */
export interface HttpDeps {
  config: Config;
  logger: Logger;
  /** The key behind a secret, or null for every kind of "no". May throw while the database is away. */
  authenticate: (secret: string) => Promise<AuthenticatedKey | null>;
  /** Whether this process can serve: the database answers and its schema is the one we know. */
  isReady: () => Promise<boolean>;
  /** Named apart from the file store, which knows nothing of signatures. */
  signedFiles: SignedFiles;
  /** Exact requests per minute; asked only for keys that have a limit. */
  rateLimiter: Pick<Deps['rateLimiter'], 'hit'>;
  /** Takes the detail row of each answered request; must neither throw nor wait. Absent: none are kept. */
  recordDetail?: (row: DetailRow) => void;
}

export interface AuthenticatedKey {
  keyId: string;
  projectId: string;
  /** The models this key may use; null means all. */
  models: string[] | null;
  /** Requests per minute; null means no limit. */
  rpm: number | null;
  inFlightMax: number | null;
}

export interface SignedFiles {
  /** The file, or null if the signature is wrong or past `expires` (unix seconds), or the file is unknown or gone. */
  openSigned(fileId: string, expires: number, signature: string): Promise<SignedFile | null>;
}

export interface SignedFile {
  /** The bytes, or those from `start` to `end`, both counted from zero and inclusive. Nothing is opened before. */
  stream(range?: ByteRange): Readable;
  bytes: number;
  mimeType: string;
  /** Lower-case hex. */
  sha256: string;
  fileName: string;
}

export interface ByteRange {
  start: number;
  end: number;
}
