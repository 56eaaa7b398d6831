import type { Config } from '../../../config/load-config.ts';
import type { Finish, TaskEnd } from '../../../db/ledger/ledger.ts';
import { findTask } from '../../../db/tasks/tasks.ts';
import type { Deps } from '../../../deps.ts';
import { endEventId } from '../../../domain/callbacks/end-event-id.ts';
import type { FinishInput, FinishReport } from '../../../domain/tasks/workflow-contract.ts';
import { crashPoint } from '../../../platform/crash-point.ts';
import { newId } from '../../../platform/crypto/ids.ts';
import { alarmOf } from '../../../domain/operators/alarm.ts';

/**
 * Ends a task once: status, money and the callback's row in one transaction. If the task has already ended, it changes nothing
 * and returns the current status. `finished` is true if this call ended the task.
 */
export async function finishTask(
  { config, ledger, logger }: Pick<Deps, 'config' | 'ledger' | 'logger'>,
  { taskId, outcome }: FinishInput,
): Promise<FinishReport & { finished: boolean }> {
  const finish = await ledger.finishTask(taskEndOf(config, { taskId, outcome }));
  if (finish.finished) {
    crashPoint('after_finish_commit_before_ack');
    logEnd(logger, { taskId, outcome }, finish);
  }
  return { status: finish.status, deliveryId: finish.deliveryId, finished: finish.finished };
}

/**
 * Ends a task for its workflow. A workflow whose task is not in the database, because it was restored to a time before the task, ends
 * without one.
 */
export async function finishTaskOfWorkflow(
  deps: Pick<Deps, 'config' | 'db' | 'ledger' | 'logger'>,
  input: FinishInput,
): Promise<FinishReport> {
  try {
    return await finishTask(deps, input);
  } catch (error) {
    if (await findTask(deps.db, input.taskId)) throw error;
    deps.logger.warn({ task_id: input.taskId }, 'a workflow ends whose task is not in the database');
    return { status: 'failed', deliveryId: null };
  }
}

/** The one log line of a task's end. An unknown outcome is an alarm. */
export function logEnd(
  logger: Deps['logger'],
  { taskId, outcome }: FinishInput,
  { status, errorCode }: Pick<Finish, 'status' | 'errorCode'>,
): void {
  const alarm = outcome.kind === 'failed' && outcome.unknown ? alarmOf('outcome_unknown') : {};
  logger.info({ task_id: taskId, status, error_code: errorCode, ...alarm }, 'task ended');
}

/** The end of a task as its row and its callback are to be written, with the ids of its callback. */
export const taskEndOf = ({ retention }: Pick<Config, 'retention'>, { taskId, outcome }: FinishInput): TaskEnd => ({
  taskId,
  status: outcome.kind,
  errorCode: outcome.kind === 'failed' ? outcome.code : outcome.kind === 'canceled' ? 'canceled' : null,
  outcomeUnknown: outcome.kind === 'failed' && outcome.unknown,
  retentionSeconds: retention.contentSeconds,
  deliveryId: newId('dlv'),
  eventId: endEventId(taskId),
});
