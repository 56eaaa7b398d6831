import { endAttempt, findTaskForAttempt, type AttemptEnd } from '../../../db/attempts.ts';
import type { AttemptReport } from '../../../domain/workflow-contract.ts';
import { recordedReport, takeRow } from './begin.ts';
import { AttemptInterrupted, type AttemptRun } from './run.ts';
import type { DecidedAttempt } from './stages.ts';

/** Writes the outcome, once. If another run has taken the row over and recorded an outcome, that outcome is reported. */
export async function recordEnd(run: AttemptRun, { holder, end: given }: DecidedAttempt): Promise<AttemptReport> {
  const { deps, task, channel } = run;
  const end = await canceledIfRequested(run, given);
  const ours = await endAttempt(deps.db, holder, end);
  if (!ours) {
    const current = await takeRow(run);
    if (current && current.outcome !== null) return recordedReport(current);
    throw new AttemptInterrupted('another run has taken this attempt over');
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
 * After the client requested a cancel, a failed attempt counts as canceled, because the cancel itself may have stopped the job.
 * No other channel is tried.
 */
async function canceledIfRequested({ deps, task: { taskId } }: AttemptRun, end: AttemptEnd): Promise<AttemptEnd> {
  if (end.outcome !== 'transient' && end.code !== 'upstream_failed') return end;
  const task = await findTaskForAttempt(deps.db, taskId);
  return task?.cancelRequested ? { ...end, outcome: 'canceled', code: null } : end;
}
