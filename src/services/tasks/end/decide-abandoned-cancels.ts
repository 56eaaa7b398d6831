import { takeOverCancels } from '../../../db/tasks/cancels.ts';
import { decideCancel, decisionSecondsMax, type CancelDeps } from './cancel-task.ts';

/** A whole batch is decided concurrently, so that none of its marks becomes old enough to be taken over again. */
const batchMax = 16;
const batchesMax = 10;

/**
 * Decides the cancels whose API server died before it decided them. A task with an undecided cancel submits nothing, so it must
 * be canceled or allowed to continue. Several processes may run this concurrently. Returns how many cancels it decided.
 */
export async function decideAbandonedCancels(deps: CancelDeps): Promise<number> {
  let decided = 0;
  for (let batch = 0; batch < batchesMax; batch++) {
    const taken = await takeOverCancels(deps.db, decisionSecondsMax(deps.config.tasks), batchMax);
    const decisions = await Promise.allSettled(taken.map(({ taskId, mark }) => decideCancel(deps, taskId, mark)));
    for (const [index, decision] of decisions.entries()) {
      const taskId = taken[index]?.taskId;
      if (decision.status === 'fulfilled') {
        decided += 1;
        deps.logger.warn({ task_id: taskId }, 'decided a cancel that its API server had left undecided');
      } else {
        deps.logger.warn(
          { err: decision.reason as unknown, task_id: taskId },
          'an undecided cancel could not be decided',
        );
      }
    }
    if (taken.length < batchMax) break;
  }
  return decided;
}
