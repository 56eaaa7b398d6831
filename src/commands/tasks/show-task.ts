import { findTask, type TaskView } from '../../db/tasks.ts';
import type { Deps } from '../../deps.ts';
import { GatewayError } from '../../domain/errors.ts';
import { isId } from '../../platform/crypto/ids.ts';

/** A project's own admitted task. Throws the same `task_not_found` for another project's task and for an unknown id. */
export async function showTaskOf(
  { db }: Pick<Deps, 'db'>,
  { projectId, taskId }: { projectId: string; taskId: string },
): Promise<TaskView> {
  const task = isId('task', taskId) ? await findTask(db, taskId) : null;
  if (!task || task.projectId !== projectId || task.admission !== 'reserved') throw new GatewayError('task_not_found');
  return task;
}
