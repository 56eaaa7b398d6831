import { forceCancel } from '../../../db/tasks/force-cancel.ts';
import { findTask } from '../../../db/tasks/tasks.ts';
import type { TaskStatus } from '../../../domain/tasks/task.ts';
import type { FinishInput } from '../../../domain/tasks/workflow-contract.ts';
import type { CancelDeps } from './cancel-task.ts';
import { logEnd, taskEndOf } from './finish-task.ts';
import { UnknownToOperator } from '../../operator-error.ts';
import { stopUpstream } from './stop-upstream.ts';

export interface ForcedCancel {
  taskId: string;
  /** The status after this call. */
  status: TaskStatus;
  /** True if this call ended the task; false if the task had ended before and nothing changed. */
  ended: boolean;
  /** Credits that this call refunded. */
  refunded: number;
  /** Whether Temporal accepted the cancellation of the workflow. Otherwise the workflow finds out later that the task has ended. */
  workflowTold: boolean;
}

/**
 * Cancels a task for an operator: always ends it with a refund (rules "Ends"). PostgreSQL decides first. After that the workflow
 * is canceled and the upstream's job is stopped once, best effort.
 */
export async function forceCancelTask(
  deps: CancelDeps,
  { taskId, actor }: { taskId: string; actor: string },
): Promise<ForcedCancel> {
  if (!(await findTask(deps.db, taskId))) throw new UnknownToOperator(`The task ${taskId} does not exist.`);
  const input: FinishInput = { taskId, outcome: { kind: 'canceled' } };
  const { finish, task } = await forceCancel(deps.db, { end: taskEndOf(deps.config, input), actor });
  const { finished } = finish;
  if (finished) logEnd(deps.logger, input, finish);
  // The workflow of a task that had ended before may still be delivering the callback.
  const workflowNotified = finished && (await deps.workflows.cancel(taskId));
  await stopUpstream(deps, taskId);
  const refunded = finished ? task.credits.refunded : 0;
  return { taskId, status: task.status, ended: finished, refunded, workflowTold: workflowNotified };
}
