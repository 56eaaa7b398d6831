import { findIdempotent } from '../../db/idempotency.ts';
import type { Deps } from '../../deps.ts';
import { GatewayError } from '../../domain/errors.ts';

const context = (requestId: string) => `idempotency|body|${requestId}` as const;

/** What an earlier request was answered, and what it cost. */
export interface StoredAnswer {
  body: string;
  credits: number;
  attempts: number;
}

/** The stored answer of an earlier request with this key; null when the key is free. Throws while that one still runs. */
export async function findStoredAnswer(
  { db, sealer }: Pick<Deps, 'db' | 'sealer'>,
  asked: { projectId: string; route: string; key: string; fingerprint: string },
): Promise<StoredAnswer | null> {
  const earlier = await findIdempotent(db, asked);
  if (!earlier) return null;
  if (earlier.fingerprint !== asked.fingerprint) throw new GatewayError('idempotency_key_reused');
  if (earlier.status === null) throw new GatewayError('idempotency_in_progress', { retryAfterSeconds: 1 });
  if (earlier.body === null) throw new GatewayError('idempotency_result_gone');
  const body = sealer.open(earlier.body, context(earlier.requestId));
  return { body, credits: earlier.credits ?? 0, attempts: earlier.attempts };
}

/** The sealed body as it is kept, or null when it is too large to keep. */
export const sealAnswer = (
  { config, sealer }: Pick<Deps, 'config' | 'sealer'>,
  requestId: string,
  body: string,
): string | null =>
  Buffer.byteLength(body) > config.idempotency.bodyMaxBytes ? null : sealer.seal(body, context(requestId));
