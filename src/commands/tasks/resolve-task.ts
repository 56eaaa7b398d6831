import { recordAudit } from '../../db/audit.ts';
import { insertResolution, type Resolution } from '../../db/resolutions.ts';
import { findTask } from '../../db/tasks.ts';
import type { Deps } from '../../deps.ts';
import { isTerminal } from '../../domain/task.ts';
import { OperatorError } from '../operator-error.ts';

/**
 * Closes the case of a task whose outcome upstream was not known: what the provider's books say. For operators only: the task
 * has ended and been refunded, and neither its status, its credits nor its callback change (rules "Invariants", T1). The same answer
 * twice is one. Throws `OperatorError` for a task that has no such case, or that was answered otherwise.
 */
export async function resolveTask(
  { db }: Pick<Deps, 'db'>,
  { taskId, outcome, reference, actor }: Resolution & { taskId: string; actor: string },
): Promise<{ changed: boolean }> {
  const task = await findTask(db, taskId);
  if (!task) throw new OperatorError(`There is no task ${taskId}.`);
  if (!isTerminal(task.status)) throw new OperatorError(`${taskId} has not ended yet (${task.status}).`);
  if (!task.outcomeUnknown) throw new OperatorError(`The outcome of ${taskId} is known: ${task.status}.`);
  const resolved = await insertResolution(db, taskId, { outcome, reference });
  if (!resolved) throw new OperatorError(`${taskId} has just been deleted.`);
  const { standing, changed } = resolved;
  if (standing.outcome !== outcome || standing.reference !== reference) {
    throw new OperatorError(`${taskId} was resolved before: ${standing.outcome}, ${standing.reference}.`);
  }
  if (changed)
    await recordAudit(db, { actor, action: 'tasks.resolve', subject: taskId, detail: { outcome, reference } });
  return { changed };
}
