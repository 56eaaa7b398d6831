import type { RequestedTask, TaskAnswer } from '../../../caches/task-answers.ts';
import { findTask } from '../../../db/tasks/tasks.ts';
import type { Deps } from '../../../deps.ts';
import { GatewayError } from '../../../domain/errors.ts';
import { isTerminal } from '../../../domain/tasks/task.ts';
import type { TaskView } from '../../../domain/tasks/task-view.ts';
import { etagOf } from '../../../platform/crypto/hash.ts';
import { isId } from '../../../platform/crypto/ids.ts';

/** How a dialect shows a task: as a `Shown`. The name tells the forms apart. */
export interface TaskForm<Shown extends object> {
  name: string;
  present: (task: TaskView) => Shown;
}

/**
 * The answer to a read of a project's own task, from memory if the task has ended and its answer is known. Throws what `showTaskOf`
 * throws.
 */
export async function answerTaskRead(
  { taskReader, taskAnswers }: Pick<Deps, 'taskReader' | 'taskAnswers'>,
  request: RequestedTask,
  { name, present }: TaskForm<object>,
): Promise<TaskAnswer> {
  const cached = taskAnswers.find(request, name);
  if (cached) return cached;
  const keep = taskAnswers.reading();
  const task = ownTask(isId('task', request.taskId) ? await taskReader.find(request.taskId) : null, request);
  const body = Buffer.from(JSON.stringify(present(task)));
  const answer = { body, etag: etagOf(body) };
  if (isFinal(task)) keep(request, name, answer);
  return answer;
}

/** Whether nothing but an announced change alters the answer about a task: it has ended, and its callback is not on its way. */
const isFinal = ({ status, callback }: TaskView): boolean => isTerminal(status) && callback?.state !== 'pending';

/** A project's own admitted task. Throws the same `task_not_found` for another project's task and for an unknown id. */
export async function showTaskOf({ db }: Pick<Deps, 'db'>, request: RequestedTask): Promise<TaskView> {
  return ownTask(isId('task', request.taskId) ? await findTask(db, request.taskId) : null, request);
}

function ownTask(task: TaskView | null, { projectId }: RequestedTask): TaskView {
  if (!task || task.projectId !== projectId || task.admission !== 'reserved' || task.isDeleted)
    throw new GatewayError('task_not_found');
  return task;
}
