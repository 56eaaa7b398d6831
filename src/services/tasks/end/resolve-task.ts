import { insertResolution, type Resolution } from '../../../db/tasks/resolutions.ts';
import { findTask } from '../../../db/tasks/tasks.ts';
import type { Deps } from '../../../deps.ts';
import { isTerminal } from '../../../domain/tasks/task.ts';
import { OperatorError, UnknownToOperator } from '../../operator-error.ts';

/**
 * Records what the provider's records say about a task with an unknown outcome. For operators only: the task has ended with a
 * refund, and its status, credits and callback do not change (rules "Invariants", T1). Recording the same resolution twice
 * changes nothing. Throws `OperatorError` if the outcome is known or another resolution is recorded.
 */
export async function resolveTask(
  { db }: Pick<Deps, 'db'>,
  { taskId, outcome, reference, actor }: Resolution & { taskId: string; actor: string },
): Promise<{ changed: boolean }> {
  const task = await findTask(db, taskId);
  if (!task) throw new UnknownToOperator(`The task ${taskId} does not exist.`);
  if (!isTerminal(task.status))
    throw new OperatorError(`The task ${taskId} has not ended yet: its status is ${task.status}.`);
  if (!task.outcomeUnknown) throw new OperatorError(`The outcome of task ${taskId} is known: ${task.status}.`);
  const resolved = await insertResolution(db, { taskId, outcome, reference, actor });
  if (!resolved) throw new OperatorError(`The task ${taskId} has just been deleted.`);
  const { standing, changed } = resolved;
  if (standing.outcome !== outcome || standing.reference !== reference) {
    throw new OperatorError(
      `The task ${taskId} is already resolved as ${standing.outcome}, with the reference ${standing.reference}.`,
    );
  }
  return { changed };
}
