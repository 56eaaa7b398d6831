import type { Readable } from 'node:stream';
import type { Logger } from 'pino';
import type { DetailRow } from '../services/requests/detail-recorder.ts';
import type { Deps } from '../deps.ts';
import type { Config } from '../config/load-config.ts';
import type { AdminAccess } from '../domain/operators/admin-access.ts';
import type { AuthenticatedKey } from '../domain/projects/authenticated-key.ts';
import type { ByteRange } from '../platform/files/file-store.ts';
import type { Tracing } from '../platform/observe/tracer.ts';

/**
 * The dependencies of the HTTP application. `main` builds them; tests replace them by small substitutes.
 */
export interface HttpDeps {
  config: Config;
  logger: Logger;
  /** The key of a secret, or null if it is unknown, revoked, expired or disabled. May throw while the database is unavailable. */
  authenticate: (secret: string) => Promise<AuthenticatedKey | null>;
  /** Whether this process can serve: the database answers and has the expected schema. */
  isReady: () => Promise<boolean>;
  /** Not the file store itself, which knows no signatures. */
  signedFiles: SignedFiles;
  /** Exact requests per minute; asked only for keys that have a limit. */
  rateLimiter: Pick<Deps['rateLimiter'], 'hit'>;
  /** Absent where no admin API is served. */
  adminAccess?: AdminAccessFinder | undefined;
  /** Measures each request. If absent, nothing is measured. */
  metrics?: Pick<Deps['metrics'], 'requestAnswered'> & Partial<Pick<Deps['metrics'], 'watchRequests'>>;
  /** Traces each request. If absent, nothing is traced. */
  tracing?: Pick<Tracing, 'serve'> | undefined;
  /** Records the detail row of each answered request. Must neither throw nor wait. If absent, no rows are kept. */
  recordDetail?: (row: DetailRow) => void;
}

/** Each is null if the secret is unknown, revoked or expired. */
export interface AdminAccessFinder {
  byToken: (token: string) => Promise<AdminAccess | null>;
  bySession: (session: string) => Promise<AdminAccess | null>;
}

export interface SignedFiles {
  /** The project of the file, or null in the same cases as `openSigned`. */
  ownerOf(fileId: string, expires: number, signature: string): Promise<string | null>;
  /** The file, or null if the signature is wrong or `expires` (unix seconds) is past, or if the file does not exist. */
  openSigned(fileId: string, expires: number, signature: string): Promise<SignedFile | null>;
}

export interface SignedFile {
  /** The bytes, or those from `start` to `end`, both counted from zero and inclusive. Opens the file only when it is called. */
  stream(range?: ByteRange): Readable;
  bytes: number;
  mimeType: string;
  /** Lower-case hexadecimal. */
  sha256: string;
  fileName: string;
}
