import { endAttempt, findTaskForAttempt, type AttemptEnd } from '../../../db/attempts.ts';
import type { AttemptReport } from '../../../domain/workflow-contract.ts';
import { recordedReport, takeRow } from './begin.ts';
import { AttemptInterrupted, type AttemptRun } from './run.ts';
import type { DecidedAttempt } from './stages.ts';

/** Writes the outcome, once. Where another run has taken the row over, the outcome that it recorded stands. */
export async function recordEnd(run: AttemptRun, { holder, end: given }: DecidedAttempt): Promise<AttemptReport> {
  const { deps, task, channel } = run;
  const end = await orCanceled(run, given);
  const ours = await endAttempt(deps.db, holder, end);
  if (!ours) {
    const standing = await takeRow(run);
    if (standing && standing.outcome !== null) return recordedReport(standing);
    throw new AttemptInterrupted('another holder has taken this attempt over');
  }
  deps.logger.info(
    {
      task_id: task.taskId,
      request_id: task.requestId,
      attempt_id: holder.attemptId,
      channel: channel.row.name,
      outcome: end.outcome,
      error_class: end.errorClass ?? undefined,
      status: end.status ?? undefined,
    },
    'attempt ended',
  );
  return recordedReport({ outcome: end.outcome, code: end.code ?? null });
}

/**
 * After the client asked for a cancel, a failed attempt counts as canceled: that cancel may itself have stopped the job, and
 * no other channel is tried.
 */
async function orCanceled({ deps, task: { taskId } }: AttemptRun, end: AttemptEnd): Promise<AttemptEnd> {
  if (end.outcome !== 'transient' && end.code !== 'upstream_failed') return end;
  const task = await findTaskForAttempt(deps.db, taskId);
  return task?.cancelRequested ? { ...end, outcome: 'canceled', code: null } : end;
}
