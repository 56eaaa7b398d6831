import type { PublicTask } from '../../../schemas/task.ts';
import type { Deps } from '../../../deps.ts';
import { presentOptions } from '../../../domain/tasks/task-options.ts';
import { taskErrorOf } from '../../../domain/tasks/task.ts';
import type { TaskView } from '../../../domain/tasks/task-view.ts';

/** The task in the format of the API. Polling and the callback return the same text, URLs included (rules "Media tasks"). */
export function presentTask({ urls }: Pick<Deps, 'urls'>, task: TaskView): PublicTask {
  return {
    task_id: task.id,
    object: 'task',
    type: task.type,
    model: task.modelId,
    status: task.status,
    progress: task.progress,
    created_at: task.createdAt,
    started_at: task.startedAt,
    completed_at: task.completedAt,
    expires_at: task.expiresAt,
    ...presentOptions(task),
    input: task.input,
    output:
      task.output?.map(({ file_id: fileId, ...about }) => ({ url: urls.sign(fileId, about.expires_at), ...about })) ??
      null,
    error: task.errorCode && taskErrorOf(task.errorCode),
    credits: { ...task.credits },
    callback: task.callback && callbackOf(task.callback),
    attempts: task.attempts,
    request_id: task.requestId,
  };
}

const callbackOf = (callback: NonNullable<TaskView['callback']>): PublicTask['callback'] => ({
  state: callback.state,
  attempts: callback.attempts,
  last_status: callback.lastStatus,
  next_attempt_at: callback.nextAttemptAt,
});
