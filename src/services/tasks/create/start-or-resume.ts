import { findRunningTask } from '../../../db/tasks/parked-provider-jobs.ts';
import type { TaskStart } from '../../../db/tasks/tasks.ts';
import type { Deps } from '../../../deps.ts';
import type { StartResult } from '../../../platform/temporal/workflow-client.ts';

export type StartingWorkflows = Pick<Deps['workflows'], 'start' | 'startAgain' | 'collect'>;

const timeoutMs = { start: 5_000, collect: 3_000 };

/**
 * Starts the workflow of a task, or joins the running one; with `collect` it is also told that a parked job may have ended. A workflow closes
 * after its task has ended. If it has closed and the task is open, the database lacks what Temporal knows: it was restored, or a standby
 * without the last transactions took over. Then the workflow is started again.
 */
export async function startOrResume(
  { db, workflows, logger }: Pick<Deps, 'db' | 'logger'> & { workflows: StartingWorkflows },
  task: TaskStart,
  begin: 'start' | 'collect',
): Promise<StartResult> {
  const result = await workflows[begin](task, timeoutMs[begin]);
  // Read after the answer, because the workflow may just have ended the task.
  if (result !== 'already_completed' || !(await findRunningTask(db, task.taskId))) return result;
  logger.warn({ task_id: task.taskId }, 'a workflow has closed although its task is open: it is started again');
  return workflows.startAgain(task, timeoutMs.start);
}
