import type { z } from 'zod';
import { taskErrorOf, type TaskErrorCode, type TaskStatus } from '../../../domain/tasks/task.ts';
import type * as schemas from '../../openapi/schemas/legacy.ts';

/** A task as clients of the former platform see it. */
export interface LegacyTask {
  id: string;
  status: TaskStatus;
  /** Percent. Null while unknown. */
  progress: number | null;
  errorCode: TaskErrorCode | null;
  /** Signed URLs of the results. Empty before the task has succeeded and after its files have expired. */
  urls: string[];
}

/** The answer of `POST /api/v1/api/generate`: id and status under each of the names that old clients read. */
export function legacyCreated(task: LegacyTask): z.input<typeof schemas.LegacyCreated> {
  const status = legacyStatus[task.status];
  return { success: true, task_id: task.id, id: task.id, status, data: { task_id: task.id, status } };
}

/** The answer of `GET /api/v1/api/result`. In all read routes `success` means that the task was found; `status` is its status. */
export const legacyResult = (task: LegacyTask): z.input<typeof schemas.LegacyResult> => ({
  success: true,
  id: task.id,
  task_id: task.id,
  ...stateOf(task),
  results: task.urls.map((url) => ({ url })),
  ...endOf(task),
});

/** The answer of `GET /api/v1/video/status`. */
export const legacyVideoStatus = (task: LegacyTask): z.input<typeof schemas.LegacyVideoStatus> => ({
  success: true,
  data: {
    task_id: task.id,
    ...stateOf(task),
    url: task.urls[0] ?? null,
    urls: task.urls,
    ...endOf(task),
  },
});

/** The answer of `GET /api/v1/internal/workflow-status`. */
export const legacyWorkflowStatus = (task: LegacyTask): z.input<typeof schemas.LegacyWorkflowStatus> => ({
  success: true,
  uuid: task.id,
  ...stateOf(task),
  images: task.urls,
  ...endOf(task),
});

/** Old clients know four status words only. A canceled task is `failed` with `canceled: true`. */
const legacyStatus = {
  queued: 'pending',
  processing: 'processing',
  succeeded: 'completed',
  failed: 'failed',
  canceled: 'failed',
} as const satisfies Record<TaskStatus, string>;

const stateOf = ({ status, progress }: LegacyTask) => ({ status: legacyStatus[status], progress });

const endOf = ({ status, errorCode }: LegacyTask) => ({
  error: errorCode && taskErrorOf(errorCode),
  ...(status === 'canceled' && { canceled: true as const }),
});
