import { toColumns } from '../../db/database.ts';
import type { TaskView } from '../../db/tasks.ts';
import type { Deps } from '../../deps.ts';
import type { JsonObject } from '../../domain/json.ts';
import { taskErrorTable } from '../../domain/task.ts';

/** The task in the format of the API. Polling and the callback return the same text, URLs included (rules "Media tasks"). */
export function presentTask({ urls }: Pick<Deps, 'urls'>, task: TaskView): JsonObject {
  const failure = task.errorCode === null ? null : taskErrorTable[task.errorCode];
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
    deadline_seconds: task.deadlineSeconds,
    max_credits: task.maxCredits,
    metadata: task.metadata ?? {},
    input: task.input,
    output:
      task.output?.map(({ file_id: fileId, ...about }) => ({ url: urls.sign(fileId, about.expires_at), ...about })) ??
      null,
    // The code of a later release is not in the table: this throws, rather than show a failed task without an error.
    error: failure === null ? null : { code: task.errorCode, message: failure.message, retryable: failure.retryable },
    credits: { ...task.credits },
    callback: task.callback && toColumns(task.callback),
    attempts: task.attempts,
    request_id: task.requestId,
  };
}
