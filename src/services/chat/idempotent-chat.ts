import { findIdempotent, markReplayed } from '../../db/idempotency.ts';
import type { Deps } from '../../deps.ts';
import { GatewayError } from '../../domain/errors.ts';

const context = (requestId: string) => `idempotency|body|${requestId}` as const;

/** The answer of an earlier request, its cost and its number of upstream calls. */
export interface StoredAnswer {
  body: string;
  /** What `x-tollgate-clamped` said; null if nothing was clamped. */
  clamped: string | null;
  /** What `x-tollgate-ignored` said; null if nothing was left out. */
  ignored: string | null;
  credits: number;
  attempts: number;
}

/**
 * The stored answer of an earlier request with this key, or null if there is none. Throws a `GatewayError` if the earlier request
 * still runs, had another body, or has no stored answer.
 */
export async function findStoredAnswer(
  { db, sealer }: Pick<Deps, 'db' | 'sealer'>,
  request: { projectId: string; route: string; key: string; fingerprint: string },
): Promise<StoredAnswer | null> {
  const earlier = await findIdempotent(db, request);
  if (!earlier) return null;
  if (earlier.fingerprint !== request.fingerprint) throw new GatewayError('idempotency_key_reused');
  if (earlier.status === null) throw new GatewayError('idempotency_in_progress', { retryAfterSeconds: 1 });
  if (earlier.body === null) throw new GatewayError('idempotency_result_gone');
  const stored = openAnswer({ sealer }, earlier.requestId, earlier.body);
  // A charge that was given back meanwhile has freed the key: sent again, this is a new request.
  if (!earlier.replayed && !(await markReplayed(db, earlier.requestId))) {
    throw new GatewayError('idempotency_in_progress', { retryAfterSeconds: 1 });
  }
  return { ...stored, credits: earlier.credits ?? 0, attempts: earlier.attempts };
}

/** The answer, sealed for storage, or null if its body is too large to keep (`idempotency.bodyMaxBytes`). */
export const sealAnswer = (
  { config, sealer }: Pick<Deps, 'config' | 'sealer'>,
  requestId: string,
  { body, clamped, ignored }: StoredText,
): string | null =>
  Buffer.byteLength(body) > config.idempotency.bodyMaxBytes
    ? null
    : sealer.seal(`${marked('clamped', clamped)}${marked('ignored', ignored)}${body}`, context(requestId));

type StoredText = Pick<StoredAnswer, 'body' | 'clamped' | 'ignored'>;

/** The first lines of a stored answer to a request that was changed. A body is JSON or events, and begins otherwise. */
const marked = (name: 'clamped' | 'ignored', value: string | null): string =>
  value === null ? '' : `x-tollgate-${name}: ${value}\n`;

/** A stored answer, as `sealAnswer` has sealed it. */
export function openAnswer({ sealer }: Pick<Deps, 'sealer'>, requestId: string, sealed: string): StoredText {
  const text = sealer.open(sealed, context(requestId));
  const found = /^(?:x-tollgate-clamped: (?<clamped>.*)\n)?(?:x-tollgate-ignored: (?<ignored>.*)\n)?/.exec(text);
  const { clamped = null, ignored = null } = found?.groups ?? {};
  return { body: text.slice(found?.[0].length ?? 0), clamped, ignored };
}
