import { endAttempt, findTaskForAttempt } from '../../../db/attempts.ts';
import { isTerminal } from '../../../domain/task.ts';
import { stopUpstream } from '../stop-upstream.ts';
import { AttemptInterrupted, type AttemptDeps, type AttemptRun } from './run.ts';
import { reported, type AttemptHolder, type ReportedAttempt } from './stages.ts';

/** The task has ended: the upstream is told to stop its job, once. */
export async function stopEndedTask(deps: AttemptDeps, taskId: string): Promise<ReportedAttempt> {
  await stopUpstream(deps, taskId);
  return reported({ kind: 'over' });
}

/** Another run has taken the row over. While the task lives, only that run may report the outcome. */
export async function leaveToNewHolder({ deps, task: { taskId } }: AttemptRun): Promise<ReportedAttempt> {
  const task = await findTaskForAttempt(deps.db, taskId);
  if (!task || isTerminal(task.status)) return stopEndedTask(deps, taskId);
  throw new AttemptInterrupted('another holder has taken this attempt over');
}

/** The task was canceled. The row stays open for the operator; the upstream is told to stop once the task's end is written. */
export async function giveUp({ deps, task: { taskId } }: AttemptRun, holder: AttemptHolder): Promise<ReportedAttempt> {
  const task = await findTaskForAttempt(deps.db, taskId);
  if (task && isTerminal(task.status)) {
    await endAttempt(deps.db, holder, { outcome: 'canceled', detail: 'the task ended before its job did' });
    await stopUpstream(deps, taskId);
  }
  return reported({ kind: 'canceled' });
}
