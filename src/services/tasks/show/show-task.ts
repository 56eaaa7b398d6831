import type { AskedTask, TaskAnswer } from '../../../caches/task-answers.ts';
import { findTask, type TaskView } from '../../../db/tasks/tasks.ts';
import type { Deps } from '../../../deps.ts';
import { GatewayError } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/json.ts';
import { isTerminal } from '../../../domain/tasks/task.ts';
import { etagOf } from '../../../platform/crypto/hash.ts';
import { isId } from '../../../platform/crypto/ids.ts';

/** How a dialect shows a task. The name tells the forms apart. */
export interface TaskForm {
  name: string;
  present: (task: TaskView) => JsonObject;
}

/**
 * The answer to a read of a project's own task, from memory if the task has ended and its answer is known. Throws what `showTaskOf`
 * throws.
 */
export async function answerTaskRead(
  { taskReader, taskAnswers }: Pick<Deps, 'taskReader' | 'taskAnswers'>,
  asked: AskedTask,
  { name, present }: TaskForm,
): Promise<TaskAnswer> {
  const known = taskAnswers.find(asked, name);
  if (known) return known;
  const keep = taskAnswers.reading();
  const task = ownTask(isId('task', asked.taskId) ? await taskReader.find(asked.taskId) : null, asked);
  const body = Buffer.from(JSON.stringify(present(task)));
  const answer = { body, etag: etagOf(body) };
  if (isFinal(task)) keep(asked, name, answer);
  return answer;
}

/** Whether nothing but an announced change alters the answer about a task: it has ended, and its callback is not on its way. */
const isFinal = ({ status, callback }: TaskView): boolean => isTerminal(status) && callback?.state !== 'pending';

/** A project's own admitted task. Throws the same `task_not_found` for another project's task and for an unknown id. */
export async function showTaskOf({ db }: Pick<Deps, 'db'>, asked: AskedTask): Promise<TaskView> {
  return ownTask(isId('task', asked.taskId) ? await findTask(db, asked.taskId) : null, asked);
}

function ownTask(task: TaskView | null, { projectId }: AskedTask): TaskView {
  if (!task || task.projectId !== projectId || task.admission !== 'reserved' || task.isDeleted)
    throw new GatewayError('task_not_found');
  return task;
}
