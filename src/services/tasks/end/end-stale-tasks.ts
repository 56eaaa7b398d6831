import { listStaleTasks } from '../../../db/tasks/tasks.ts';
import type { Deps } from '../../../deps.ts';
import { crashPoint } from '../../../platform/crash-point.ts';
import { finishTask } from './finish-task.ts';
import { alarmOf } from '../../../domain/operators/alarm.ts';

const batchMax = 200;
const batchesMax = 50;
/** This many tasks that cannot be ended need an operator. */
const stuckMax = 1_000;

/**
 * Fails every task that is past its deadline by the database clock and refunds its credits (spec §3), at most 10,000 in one run.
 * Returns the tasks that this run ended: their workflows and upstream jobs may still run (`createEndFollowUp`). Several processes
 * may run this concurrently: each task is ended once.
 */
export async function endStaleTasks(
  deps: Pick<Deps, 'config' | 'db' | 'ledger' | 'logger' | 'tracer'>,
): Promise<{ ended: string[]; stuck: number }> {
  const ended: string[] = [];
  const stuck: string[] = [];
  for (let batch = 0; batch < batchesMax; batch++) {
    // Tasks that could not be ended are left out, so that they do not block later ones.
    const tasks = await listStaleTasks(deps.db, batchMax, stuck);
    const ends = await Promise.allSettled(
      tasks.map(async ({ taskId, traceParent }) => {
        const outcome = { kind: 'failed', code: 'task_timeout', unknown: false } as const;
        await deps.tracer.resume(traceParent, 'end the stale task', () => finishTask(deps, { taskId, outcome }));
        crashPoint('mid_stale_batch');
      }),
    );
    for (const [index, end] of ends.entries()) {
      const taskId = tasks[index]?.taskId ?? '';
      if (end.status === 'fulfilled') ended.push(taskId);
      else {
        stuck.push(taskId);
        deps.logger.error(
          { err: end.reason as unknown, task_id: taskId, ...alarmOf('task_stuck') },
          'a stale task could not be ended',
        );
      }
    }
    if (tasks.length < batchMax || stuck.length >= stuckMax) break;
  }
  return { ended, stuck: stuck.length };
}
