import { rejectUndecided } from '../../../db/tasks/tasks.ts';
import type { Deps } from '../../../deps.ts';
import { keepWriting } from '../../keep-writing.ts';
import { finishTask } from './finish-task.ts';
import { alarmOf } from '../../../domain/operators/alarm.ts';

/** A longer outage of the database is for an operator, who finds the task in the log. */
const withdrawMs = 3_600_000;

/**
 * Makes sure that a task without an Idempotency-Key whose create failed is not charged: rejects it, or if its credits were reserved by a
 * statement whose answer was lost, cancels it with a refund. Returns immediately, and repeats until the database answers.
 */
export function withdrawTask(
  deps: Pick<Deps, 'config' | 'db' | 'ledger' | 'logger'> & { workflows: Pick<Deps['workflows'], 'cancel'> },
  taskId: string,
): void {
  const { db, logger, workflows } = deps;
  const until = performance.now() + withdrawMs;
  const withdraw = async (): Promise<void> => {
    // Never by reserving: a row that was written late could be reserved for a moment, in which a worker begins it.
    if (!(await rejectUndecided(db, taskId))) return;
    const { finished, status } = await finishTask(deps, { taskId, outcome: { kind: 'canceled' } });
    if (finished) await workflows.cancel(taskId);
    logger.warn({ task_id: taskId, status }, 'a task whose client received 503 was withdrawn');
  };
  keepWriting(withdraw, { leftMs: () => until - performance.now() }).catch((error: unknown) =>
    logger.error(
      { err: error, task_id: taskId, ...alarmOf('task_not_withdrawn') },
      'a task whose client received 503 could not be withdrawn',
    ),
  );
}
