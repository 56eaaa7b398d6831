import { findAnsweredRequest, type AnsweredRequest } from '../../db/detail-rows.ts';
import { findById } from '../../db/search/find-by-id.ts';
import type { Deps } from '../../deps.ts';
import { isId, timeOfId } from '../../platform/crypto/ids.ts';
import { UnknownToOperator } from '../operator-error.ts';

/** What a request was. `answered` is known of one that had no credits held. */
export interface FoundRequest {
  kind: 'chat' | 'task' | 'answered';
  /** The task that it created. */
  taskId: string | null;
  answered: AnsweredRequest | null;
}

/**
 * Says what a request was, by its id: a chat, the create of a task, or one that was answered without a hold, such as a refusal. Throws
 * `UnknownToOperator` if it is not known, or not any more.
 */
export async function findRequest({ db }: Pick<Deps, 'db'>, requestId: string): Promise<FoundRequest> {
  const whole = isId('req', requestId);
  const [held] = whole ? ((await findById(db, requestId)) ?? []) : [];
  if (held?.type === 'task') return { kind: 'task', taskId: held.id, answered: null };
  if (held) return { kind: 'chat', taskId: null, answered: null };
  const answered = whole ? await findAnsweredRequest(db, requestId, timeOfId(requestId)) : null;
  if (answered === null) throw new UnknownToOperator(unknownRequest(requestId));
  return { kind: 'answered', taskId: null, answered };
}

const unknownRequest = (id: string): string =>
  `There is no request ${id}. How a request without credits was answered is kept for API_DETAIL_RETENTION_DAYS: search the logs for its id.`;
