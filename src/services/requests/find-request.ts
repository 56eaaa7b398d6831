import { findAnsweredRequest, type AnsweredRequest } from '../../db/detail-rows.ts';
import { findTask } from '../../db/tasks/tasks.ts';
import { findById } from '../../db/search/find-by-id.ts';
import type { Deps } from '../../deps.ts';
import { requestIdOf } from '../../domain/requests/answer-id.ts';
import { isId, timeOfId } from '../../platform/crypto/ids.ts';
import { UnknownToOperator } from '../operator-error.ts';

/** What a request was. `answered` is known of one that had no credits held. */
export interface FoundRequest {
  kind: 'chat' | 'task' | 'answered';
  /** That of an answer for the id of the answer. */
  requestId: string;
  /** The task that it created. */
  taskId: string | null;
  answered: AnsweredRequest | null;
}

/**
 * Says what a request was, by its id or by that of its answer or its task: a chat, the create of a task, or one that was answered without a hold,
 * such as a refusal. Throws `UnknownToOperator` if it is not known, or not any more.
 */
export async function findRequest({ db }: Pick<Deps, 'db'>, id: string): Promise<FoundRequest> {
  const requestId = requestIdOf(id);
  const isWhole = isId('req', requestId);
  const [held] = isWhole || isId('task', id) ? ((await findById(db, requestId)) ?? []) : [];
  if (held?.type === 'chat') return { kind: 'chat', requestId, taskId: null, answered: null };
  const task = held && (await findTask(db, held.id));
  if (task && task.admission !== 'rejected') return { kind: 'task', requestId, taskId: task.id, answered: null };
  // The row of a task whose create was refused does not say why.
  const answered = isWhole ? await findAnsweredRequest(db, requestId, timeOfId(requestId)) : null;
  if (answered) return { kind: 'answered', requestId, taskId: null, answered };
  if (task) return { kind: 'task', requestId, taskId: task.id, answered: null };
  throw new UnknownToOperator(unknownRequest(id));
}

const unknownRequest = (id: string): string =>
  `There is no request ${id}. How a request without credits was answered is kept for API_DETAIL_RETENTION_DAYS: search the logs for its id.`;
