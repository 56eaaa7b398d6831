import { deleteTaskRow } from '../../../db/tasks/tasks.ts';
import type { Deps } from '../../../deps.ts';
import { GatewayError } from '../../../domain/errors.ts';
import type { TaskView } from '../../../domain/tasks/task-view.ts';
import { discardFiles } from '../../files/discard-files.ts';

/**
 * Erases an ended task: its content, metadata, callback and files. What it cost stays. No client finds the task any more. Throws `task_not_ended`
 * for a task that runs.
 */
export async function deleteTask(
  deps: Pick<Deps, 'db' | 'files' | 'logger' | 'taskAnswers'>,
  { id }: TaskView,
): Promise<void> {
  const { verdict, files } = await deleteTaskRow(deps.db, id);
  if (verdict === 'not_ended') throw new GatewayError('task_not_ended');
  if (verdict === 'unknown') throw new GatewayError('task_not_found');
  // The notification tells all processes, but this one may answer a read before it arrives.
  deps.taskAnswers.forget([id]);
  await discardFiles(deps, files);
}
