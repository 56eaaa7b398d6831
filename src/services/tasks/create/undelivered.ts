import { keepUndelivered, takeUndelivered, type UnkeyedRequest } from '../../../db/idempotency.ts';
import type { Deps } from '../../../deps.ts';
import { canonicalHash } from '../../../platform/json-pieces.ts';
import type { CreateMediaRequest } from './resolve-create.ts';

/** Longer than the retries of SDKs take, and short enough that a person still means the same picture. */
const keptSeconds = 600;

/** What equal requests have in common, in the order of any JSON. */
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
  const unkeyed = unkeyedRequest(request, await fingerprintOf(request));
  try {
    await keepUndelivered(db, unkeyed, { taskId, requestId: request.requestId, keptSeconds });
    return true;
  } catch (error) {
    logger.warn({ err: error, task_id: taskId }, 'an undelivered task could not be noted');
    return false;
  }
}

/** The task of an equal request of the same key that was not delivered. Each is taken over once. */
export const findUndelivered = (
  { db }: Pick<Deps, 'db'>,
  request: Pick<CreateMediaRequest, 'key'>,
  fingerprint: string,
) => takeUndelivered(db, unkeyedRequest(request, fingerprint));

const unkeyedRequest = ({ key }: Pick<CreateMediaRequest, 'key'>, fingerprint: string): UnkeyedRequest => ({
  projectId: key.projectId,
  keyId: key.keyId,
  fingerprint,
});
