import { expireChats } from '../../db/chat-ledger.ts';
import { listStaleTasks } from '../../db/tasks.ts';
import type { Deps } from '../../deps.ts';
import { crashPoint } from '../../platform/crash-point.ts';
import { inLanes } from '../../platform/in-lanes.ts';
import { finishTask } from './finish-task.ts';
import { stopUpstream } from './stop-upstream.ts';

const batchMax = 200;
const batchesMax = 50;
const cancelTimeoutMs = 2_000;
/** This many tasks that cannot be ended need an operator. */
const stuckMax = 1_000;
const stopLanes = 16;
const stopMsMax = 20_000;

/**
 * Fails every task that is past its deadline by the database clock and refunds its credits. Then it cancels the workflow and
 * stops the upstream's job, best effort (spec §3). It also refunds expired chat holds, whose answers were never delivered.
 * Several processes may run this concurrently: each task is ended once.
 */
export async function endStaleTasks(
  deps: Pick<Deps, 'config' | 'db' | 'ledger' | 'logger' | 'workflows' | 'channels' | 'adapters' | 'sealer'>,
): Promise<{ failed: number; stuck: number; expired: number }> {
  const ended: string[] = [];
  const stuck: string[] = [];
  for (let batch = 0; batch < batchesMax; batch++) {
    // Tasks that could not be ended are left out, so that they do not block later ones.
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
    // The upstream's jobs cost money until they are stopped.
    await stopAll(deps, ended);
  }
  return { failed: ended.length, stuck: stuck.length, expired };
}

/**
 * Cancels the workflows and stops the upstream jobs of ended tasks. All credits are refunded by now, so failures do no harm: a
 * workflow that was not canceled ends at its deadline, and the worker that next polls a job with an unclaimed stop stops it.
 */
async function stopAll(
  deps: Parameters<typeof stopUpstream>[0] & Pick<Deps, 'workflows'>,
  ended: string[],
): Promise<void> {
  const until = performance.now() + stopMsMax;
  await inLanes(ended, stopLanes, async (taskId) => {
    const warn = (message: string) => (error: unknown) => deps.logger.warn({ err: error, task_id: taskId }, message);
    if (performance.now() < until) {
      const canceled = deps.workflows.cancel(taskId, cancelTimeoutMs);
      await canceled.catch(warn('the workflow of a stale task could not be canceled'));
    }
    await stopUpstream(deps, taskId).catch(warn('the upstream job of a stale task could not be stopped'));
  });
}
