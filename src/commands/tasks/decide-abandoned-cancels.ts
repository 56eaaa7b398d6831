import { takeOverCancels } from '../../db/cancels.ts';
import { decideCancel, decisionSecondsMax, type CancelDeps } from './cancel-task.ts';

/** All of a batch are decided at once, so that none of the marks taken over grows old again meanwhile. */
const batchMax = 16;
const batchesMax = 10;

/**
 * Decides the cancels whose API died before it could: nothing new is bought for such a task, so it must end or be told to go
 * on. Any number of these may run at once. Answers how many it decided.
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
        deps.logger.warn({ task_id: taskId }, 'a cancel that was left undecided was decided');
      } else {
        deps.logger.warn({ err: decision.reason as unknown, task_id: taskId }, 'a cancel could not be decided');
      }
    }
    if (taken.length < batchMax) break;
  }
  return decided;
}
