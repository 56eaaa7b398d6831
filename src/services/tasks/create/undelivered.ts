import { keepUndelivered } from '../../../db/idempotency.ts';
import type { Deps } from '../../../deps.ts';
import { fingerprintOf } from '../../../platform/json-pieces.ts';
import type { CreateMediaRequest } from './resolve-create.ts';

/**
 * Notes that the client of a request without an Idempotency-Key got no answer: many clients send a request again after 504 or their own
 * timeout, whatever the answer says, and would buy a second picture. False if it could not be written.
 */
export async function noteUndelivered(
  { db, logger }: Pick<Deps, 'db' | 'logger'>,
  request: Pick<CreateMediaRequest, 'route' | 'body' | 'key' | 'requestId'>,
  taskId: string,
): Promise<boolean> {
  const unkeyed = { ...request.key, fingerprint: await fingerprintOf(request.route, request.body) };
  try {
    await keepUndelivered(db, unkeyed, { taskId, requestId: request.requestId });
    return true;
  } catch (error) {
    logger.warn({ err: error, task_id: taskId }, 'an undelivered task could not be noted');
    return false;
  }
}
