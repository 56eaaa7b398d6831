import { keepUndelivered } from '../../../db/idempotency.ts';
import type { Deps } from '../../../deps.ts';
import { canonicalHash } from '../../../platform/json-pieces.ts';
import type { CreateMediaRequest } from './resolve-create.ts';

/** Longer than the retries of SDKs take, and short enough that a person still means the same picture. */
const keptSeconds = 600;

/** The hash that equal requests share, in whatever order their fields stand. */
export const fingerprintOf = ({ route, body }: Pick<CreateMediaRequest, 'route' | 'body'>): Promise<string> =>
  canonicalHash({ method: 'POST', path: route, body });

/**
 * Notes that the client of a request without an Idempotency-Key got no answer: many clients send a request again after 504 or their own
 * timeout, whatever the answer says, and would buy a second picture. False if it could not be written.
 */
export async function noteUndelivered(
  { db, logger }: Pick<Deps, 'db' | 'logger'>,
  request: Pick<CreateMediaRequest, 'route' | 'body' | 'key' | 'requestId'>,
  taskId: string,
): Promise<boolean> {
  const unkeyed = { ...request.key, fingerprint: await fingerprintOf(request) };
  try {
    await keepUndelivered(db, unkeyed, { taskId, requestId: request.requestId, keptSeconds });
    return true;
  } catch (error) {
    logger.warn({ err: error, task_id: taskId }, 'an undelivered task could not be noted');
    return false;
  }
}
