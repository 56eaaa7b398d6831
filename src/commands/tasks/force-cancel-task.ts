import { recordAudit } from '../../db/audit.ts';
import { findTask } from '../../db/tasks.ts';
import type { TaskStatus } from '../../domain/task.ts';
import type { CancelDeps } from './cancel-task.ts';
import { finishTask } from './finish-task.ts';
import { OperatorError } from '../operator-error.ts';
import { stopUpstream } from './stop-upstream.ts';

export interface ForcedCancel {
  taskId: string;
  /** What stands now. */
  status: TaskStatus;
  /** True when this call ended the task; false when it had ended before, and nothing was changed. */
  ended: boolean;
  /** Credits that this call gave back. */
  refunded: number;
  /** Whether the task's workflow took the cancellation; when not, it finds the task ended by itself. */
  workflowTold: boolean;
}

/**
 * An operator's cancel: always ends the task with a refund (rules "Ends"). PostgreSQL decides first; the workflow and, once,
 * the upstream are told afterwards, best effort.
 */
export async function forceCancelTask(
  deps: CancelDeps,
  { taskId, actor }: { taskId: string; actor: string },
): Promise<ForcedCancel> {
  if (!(await findTask(deps.db, taskId))) throw new OperatorError(`There is no task ${taskId}.`);
  const { finished } = await finishTask(deps, { taskId, outcome: { kind: 'canceled' } });
  const task = await findTask(deps.db, taskId);
  if (!task) throw new Error(`task ${taskId} is gone`);
  const refunded = finished ? task.credits.refunded : 0;
  if (finished) {
    const detail = { status: task.status, refunded, project_id: task.projectId };
    await recordAudit(deps.db, { actor, action: 'tasks.cancel', subject: taskId, detail });
  }
  // Of a task that had ended before, the workflow may be busy with its callback, which is not to be disturbed.
  const workflowTold = finished && (await deps.workflows.cancel(taskId, cancelTimeoutMs));
  await stopUpstream(deps, taskId);
  return { taskId, status: task.status, ended: finished, refunded, workflowTold };
}

const cancelTimeoutMs = 2_000;
