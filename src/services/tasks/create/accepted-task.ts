import type { NewTask } from '../../../db/ledger/ledger.ts';
import { optionsOf } from '../../../domain/tasks/task-options.ts';
import type { TaskView } from '../../../domain/tasks/task-view.ts';

/**
 * A task as its client sees it at the moment in which its credits are reserved. Everything but the time of its creation is what the
 * request asked for, so the answer needs no statement of its own. `createdAt` is in unix seconds.
 */
export function acceptedTask(task: NewTask, createdAt: number): TaskView {
  const { taskId, projectId, requestId, type, modelId, input, credits, callbackUrl } = task;
  return {
    id: taskId,
    projectId,
    requestId,
    type,
    modelId,
    status: 'queued',
    admission: 'reserved',
    refusalCode: null,
    ...optionsOf(task),
    deadlineSeconds: Math.round(task.deadlineSeconds),
    isDeleted: false,
    input,
    output: null,
    errorCode: null,
    outcomeUnknown: false,
    progress: null,
    attempts: 0,
    createdAt,
    startedAt: null,
    completedAt: null,
    expiresAt: null,
    credits: { quoted: credits, reserved: credits, charged: 0, refunded: 0 },
    callback: callbackUrl === null ? null : { state: 'pending', attempts: 0, lastStatus: null, nextAttemptAt: null },
  };
}
