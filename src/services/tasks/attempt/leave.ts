import { endAttempt, findTaskForAttempt, hasAttempt } from '../../../db/tasks/attempts.ts';
import { isTerminal, type TaskStatus } from '../../../domain/tasks/task.ts';
import type { AttemptReport } from '../../../domain/tasks/workflow-contract.ts';
import { stopUpstream } from '../end/stop-upstream.ts';
import { patiently } from './patiently.ts';
import { AttemptInterrupted, type AttemptDeps, type AttemptRun } from './run.ts';
import { reported, type AttemptHolder, type ReportedAttempt } from './stages.ts';

/** Reports that the task has ended, after telling the upstream once to stop its job. */
export async function stopEndedTask(deps: AttemptDeps, taskId: string): Promise<ReportedAttempt> {
  await stopUpstream(deps, taskId);
  return reported({ kind: 'over' });
}

/** Reports how the task has ended: this attempt succeeded, or its job is not wanted any more and is stopped. */
export const leaveEndedTask = async (
  deps: AttemptDeps,
  taskId: string,
  status: TaskStatus | undefined,
): Promise<ReportedAttempt> =>
  // Only the attempt that succeeded is run again after that.
  status === 'succeeded' ? reported({ kind: 'ok', code: null }) : stopEndedTask(deps, taskId);

/**
 * Leaves the attempt to the run that has taken its row over. Until the task ends, only that run may report the outcome. If the row is gone, its
 * outcome is unknown.
 */
export async function leaveToNewHolder(run: AttemptRun, { attemptId }: AttemptHolder): Promise<ReportedAttempt> {
  const { deps } = run;
  const { taskId } = run.task;
  const task = await patiently(run, () => findTaskForAttempt(deps.db, taskId));
  if (!task || isTerminal(task.status)) return leaveEndedTask(deps, taskId, task?.status);
  if (!(await patiently(run, () => hasAttempt(deps.db, attemptId)))) return reported(lostAttempt(deps, taskId));
  throw new AttemptInterrupted('another run has taken this attempt over');
}

/** The report of an attempt that was made and that the database lacks: a second call could buy its job twice. */
export function lostAttempt({ logger }: Pick<AttemptDeps, 'logger'>, taskId: string): AttemptReport {
  logger.warn({ task_id: taskId }, 'the database lacks an attempt that was made: its task ends');
  return { kind: 'unknown', code: 'upstream_outcome_unknown' };
}

/** Stops working for a canceled task. If the task's end is not written yet, the row stays without an outcome and no stop is sent. */
export async function giveUp(run: AttemptRun, holder: AttemptHolder): Promise<ReportedAttempt> {
  const { deps } = run;
  const { taskId } = run.task;
  const task = await patiently(run, () => findTaskForAttempt(deps.db, taskId));
  if (task && isTerminal(task.status)) {
    const end = { outcome: 'canceled', detail: 'the task ended before its provider job did' } as const;
    await patiently(run, () => endAttempt(deps.db, holder, end));
    await stopUpstream(deps, taskId);
  }
  return reported({ kind: 'canceled' });
}
