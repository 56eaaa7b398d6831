import { expireChats } from '../../db/chat-ledger.ts';
import { listStaleTasks } from '../../db/tasks.ts';
import type { Deps } from '../../deps.ts';
import { crashPoint } from '../../platform/crash-point.ts';
import { finishTask } from './finish-task.ts';
import { stopUpstream } from './stop-upstream.ts';

const batchMax = 200;
const batchesMax = 50;
const cancelTimeoutMs = 2_000;
/** This many tasks that cannot be ended need an operator. */
const stuckMax = 1_000;
const tellLanes = 16;
const tellMsMax = 20_000;

/**
 * Fails every task that is past its deadline by the database clock and gives its credits back; then tells its workflow and
 * its upstream, best effort (spec §3). Chat holds past their expiry are refunded too: no answer was delivered. Any number of
 * these may run at once: each task is ended once.
 */
export async function endStaleTasks(
  deps: Pick<Deps, 'config' | 'db' | 'ledger' | 'logger' | 'workflows' | 'channels' | 'adapters' | 'sealer'>,
): Promise<{ failed: number; stuck: number; expired: number }> {
  const ended: string[] = [];
  const stuck: string[] = [];
  for (let batch = 0; batch < batchesMax; batch++) {
    // Without those that could not be ended: they must not keep the later ones waiting.
    const ids = await listStaleTasks(deps.db, batchMax, stuck);
    const ends = await Promise.allSettled(
      ids.map(async (taskId) => {
        await finishTask(deps, { taskId, outcome: { kind: 'failed', code: 'task_timeout', unknown: false } });
        crashPoint('mid_stale_batch');
      }),
    );
    for (const [index, end] of ends.entries()) {
      const taskId = ids[index] ?? '';
      if (end.status === 'fulfilled') ended.push(taskId);
      else {
        stuck.push(taskId);
        deps.logger.error(
          { err: end.reason as unknown, task_id: taskId, alarm: true },
          'a stale task could not be ended',
        );
      }
    }
    if (ids.length < batchMax || stuck.length >= stuckMax) break;
  }
  let expired: number;
  try {
    expired = await expireChats(deps.db, batchMax);
  } finally {
    // What was bought for them costs on.
    await tell(deps, ended);
  }
  return { failed: ended.length, stuck: stuck.length, expired };
}

/**
 * All credits are back by now, so nothing waits for this. A workflow that was not told ends by itself at its deadline; a job
 * whose stop was not claimed yet is stopped by whoever looks at its attempt next.
 */
async function tell(
  deps: Parameters<typeof stopUpstream>[0] & Pick<Deps, 'workflows'>,
  ended: string[],
): Promise<void> {
  const queue = [...ended];
  const until = performance.now() + tellMsMax;
  const lane = async (): Promise<void> => {
    for (let taskId = queue.shift(); taskId !== undefined; taskId = queue.shift()) {
      if (performance.now() < until)
        await deps.workflows
          .cancel(taskId, cancelTimeoutMs)
          .catch((error: unknown) =>
            deps.logger.warn({ err: error, task_id: taskId }, 'the workflow of a stale task could not be told'),
          );
      await stopUpstream(deps, taskId).catch((error: unknown) =>
        deps.logger.warn({ err: error, task_id: taskId }, 'the upstream of a stale task could not be told'),
      );
    }
  };
  await Promise.all(Array.from({ length: tellLanes }, lane));
}
