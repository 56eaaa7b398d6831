import {
  bindAdminRequest,
  freeAdminRequest,
  storeAdminAnswer,
  type AdminRequest,
  type BoundRequest,
} from '../../db/operators/admin-requests.ts';
import type { Deps } from '../../deps.ts';
import { GatewayError } from '../../domain/errors.ts';
import { OperatorError } from '../operator-error.ts';

/** A day, as a person who retries by hand may need. */
const keptSeconds = 86_400;
/** Longer than any request runs. After it, the process that ran the request has ended. */
const runSecondsMax = 600;

/**
 * Runs the work of a request once for its Idempotency-Key, and answers every repetition with the same text. A refusal frees the key,
 * because it changed nothing. After any other failure the key stays bound: the change may have been made. Throws `GatewayError` for a key
 * of another request, or of one that still runs or was never answered.
 */
export async function answerOnce(
  { db, sealer }: Pick<Deps, 'db' | 'sealer'>,
  { fingerprint, ...request }: AdminRequest & { fingerprint: string },
  work: () => Promise<string>,
): Promise<{ answer: string; isReplay: boolean }> {
  const context = `admin_request|answer|${request.principalId} ${request.key}` as const;
  const bound = await bindAdminRequest(db, request, { fingerprint, keptSeconds });
  if (bound) return { answer: sealer.open(storedAnswer(bound, fingerprint), context), isReplay: true };
  const answer = await work().catch(async (error: unknown) => {
    const isRefusal = error instanceof OperatorError || error instanceof GatewayError;
    // The refusal is told even if its key stays bound.
    if (isRefusal) await freeAdminRequest(db, request).catch(() => undefined);
    throw error;
  });
  await storeAdminAnswer(db, request, sealer.seal(answer, context));
  return { answer, isReplay: false };
}

function storedAnswer(bound: BoundRequest, fingerprint: string): string {
  if (bound.fingerprint !== fingerprint) throw new GatewayError('idempotency_key_reused');
  if (bound.answer !== null) return bound.answer;
  if (bound.ageSeconds < runSecondsMax) throw new GatewayError('idempotency_in_progress', { retryAfterSeconds: 1 });
  const message =
    'This request was not answered, and its change may have been made. Look before you send it with another key.';
  throw new GatewayError('idempotency_result_gone', { message });
}
