import { expireChats } from '../db/chat-ledger.ts';
import { listStaleTasks } from '../db/tasks.ts';
import type { Deps } from '../deps.ts';
import { finishTask } from './finish-task.ts';
import { stopUpstream } from './stop-upstream.ts';

const batchMax = 200;
const batchesMax = 50;
const cancelTimeoutMs = 2_000;

/**
 * Fails every task that is past its deadline by the database clock and gives its credits back; then tells its workflow and
 * its upstream, best effort (spec §3). Chat holds past their expiry are refunded too: no answer was delivered. Any number of these may run at once: each task is ended once.
 */
export async function endStaleTasks(
  deps: Pick<Deps, 'config' | 'db' | 'ledger' | 'logger' | 'workflows' | 'channels' | 'adapters' | 'sealer'>,
): Promise<{ failed: number; expired: number }> {
  let failed = 0;
  for (let batch = 0; batch < batchesMax; batch++) {
    const ids = await listStaleTasks(deps.db, batchMax);
    // One task that cannot be ended must not keep the others waiting.
    const ends = await Promise.allSettled(
      ids.map((taskId) =>
        finishTask(deps, { taskId, outcome: { kind: 'failed', code: 'task_timeout', unknown: false } }),
      ),
    );
    for (const [index, end] of ends.entries()) {
      const taskId = ids[index] ?? '';
      if (end.status === 'rejected') {
        deps.logger.error(
          { err: end.reason as unknown, task_id: taskId, alarm: true },
          'a stale task could not be ended',
        );
        continue;
      }
      failed += 1;
      await deps.workflows.cancel(taskId, cancelTimeoutMs);
      await stopUpstream(deps, taskId);
    }
    if (ids.length < batchMax || ends.some(({ status }) => status === 'rejected')) break;
  }
  return { failed, expired: await expireChats(deps.db, batchMax) };
}
