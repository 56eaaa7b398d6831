import { findRunningTask } from '../../../db/tasks/parked-provider-jobs.ts';
import { listAttemptChannels } from '../../../db/restore/restored-work.ts';
import type { TaskStart } from '../../../db/tasks/tasks.ts';
import type { Deps } from '../../../deps.ts';
import type { StartResult } from '../../../platform/temporal/workflow-client.ts';
import { hasUnrecordedAttempt } from '../../../platform/temporal/workflow-record.ts';
import { finishTask } from '../end/finish-task.ts';

export type StartingWorkflows = Pick<Deps['workflows'], 'start' | 'startAgain' | 'collect' | 'readRecord'>;

const timeoutMs = { start: 5_000, collect: 3_000, record: 5_000 };

/**
 * Starts the workflow of a task, or joins the running one; with `collect` it is also told that a parked job may have ended. A workflow closes
 * after its task has ended. If it has closed and the task is open, the database lacks what Temporal knows: it was restored, or a standby
 * without the last transactions took over. Then the workflow is started again, unless it called a channel of which the database has no
 * attempt: that task ends with an unknown outcome and a refund, because a second call could buy its job twice.
 */
export async function startOrResume(
  deps: Pick<Deps, 'config' | 'db' | 'ledger' | 'logger'> & { workflows: StartingWorkflows },
  task: TaskStart,
  begin: 'start' | 'collect',
): Promise<StartResult> {
  const { db, workflows, logger } = deps;
  const { taskId } = task;
  const result = await workflows[begin](task, timeoutMs[begin]);
  // Read after the answer, because the workflow may just have ended the task.
  if (result !== 'already_completed' || !(await findRunningTask(db, taskId))) return result;
  const record = await workflows.readRecord(taskId, timeoutMs.record);
  if (record === 'unreachable') return record;
  if (hasUnrecordedAttempt(record, await listAttemptChannels(db, taskId))) {
    logger.warn({ task_id: taskId }, 'a workflow has closed whose attempts the database lacks: its task ends');
    await finishTask(deps, { taskId, outcome: { kind: 'failed', code: 'upstream_outcome_unknown', unknown: true } });
    return result;
  }
  logger.warn({ task_id: taskId }, 'a workflow has closed although its task is open: it is started again');
  return workflows.startAgain(task, timeoutMs.start);
}
