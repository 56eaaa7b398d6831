import { UNKEYED_DECIDE_SECONDS } from '../../db/tasks.ts';
import type { Deps } from '../../deps.ts';
import { pause } from '../../platform/pause.ts';
import { keepWriting } from '../keep-writing.ts';
import { finishTask } from './finish-task.ts';

/** A longer outage of the database is for an operator, who finds the task in the log. */
const withdrawMs = 3_600_000;
const workflowTimeoutMs = 2_000;
const marginMs = 200;

/**
 * Makes sure that a task whose client was told that it was not accepted does not run: rejects it, or if its credits were reserved
 * by a statement whose answer was lost, cancels it with a refund. Begins when the credits can no longer be reserved by this call itself,
 * `UNKEYED_DECIDE_SECONDS` after `createdAt` (by `performance.now()`). Returns at once, and repeats until the database answers.
 */
export function withdrawTask(
  deps: Pick<Deps, 'config' | 'ledger' | 'logger'> & { workflows: Pick<Deps['workflows'], 'cancel'> },
  { taskId, createdAt }: { taskId: string; createdAt: number },
): void {
  const { ledger, logger, workflows } = deps;
  const until = performance.now() + withdrawMs;
  const withdraw = async (): Promise<void> => {
    const { admitted } = await ledger.reserveTask(taskId, false);
    if (!admitted) return;
    const { finished, status } = await finishTask(deps, { taskId, outcome: { kind: 'canceled' } });
    if (finished) await workflows.cancel(taskId, workflowTimeoutMs);
    logger.warn({ task_id: taskId, status }, 'a task whose client received 503 was withdrawn');
  };
  const undecidedMs = createdAt + UNKEYED_DECIDE_SECONDS * 1_000 + marginMs - performance.now();
  const withdrawing = pause(undecidedMs).then(() => keepWriting(withdraw, { leftMs: () => until - performance.now() }));
  withdrawing.catch((error: unknown) =>
    logger.error(
      { err: error, task_id: taskId, alarm: true },
      'a task whose client received 503 could not be withdrawn',
    ),
  );
}
