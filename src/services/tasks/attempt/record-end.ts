import { endAttempt, findTaskForAttempt, hasAttempt, type AttemptEnd } from '../../../db/tasks/attempts.ts';
import type { AttemptOutcome } from '../../../domain/channels/upstream.ts';
import type { AttemptReport, FinishInput } from '../../../domain/tasks/workflow-contract.ts';
import { crashPoint } from '../../../platform/crash-point.ts';
import { logEnd, taskEndOf } from '../end/finish-task.ts';
import { recordedReport, takeRow } from './begin.ts';
import { leaveToNewHolder } from './leave.ts';
import { patiently } from './patiently.ts';
import { notSent } from './prepare-inputs.ts';
import { AttemptInterrupted, type AttemptRun } from './run.ts';
import type { AttemptHolder, CopiedResults, DecidedAttempt } from './stages.ts';

/**
 * Writes the outcome of an attempt without results, once. If another run has taken the row over and recorded an outcome, that outcome
 * is reported.
 */
export async function recordEnd(run: AttemptRun, { holder, end: decidedEnd }: DecidedAttempt): Promise<AttemptReport> {
  const end = await canceledIfRequested(run, decidedEnd);
  const ours = await patiently(run, () => endAttempt(run.deps.db, holder, end));
  if (!ours) return reportOfOtherRun(run, holder);
  logAttempt(run, holder, end);
  if (end.outcome !== 'canceled') countAttempt(run, end.outcome);
  return recordedReport({ outcome: end.outcome, code: end.code ?? null });
}

/**
 * Ends an attempt with results and its task, once and in one transaction: the files, the outcome, the credits and the row of the
 * callback. If the task has already ended, its end does not change.
 */
export async function recordResults(run: AttemptRun, { holder, files }: CopiedResults): Promise<AttemptReport> {
  const { deps, task } = run;
  const success: FinishInput = { taskId: task.taskId, outcome: { kind: 'succeeded' } };
  crashPoint('after_result_before_finish_tx');
  const end = { ...taskEndOf(deps.config, success), ...holder, files };
  const finish = await patiently(run, () => deps.ledger.finishAttempt(end));
  if (!finish) return reportOfOtherRun(run, holder);
  logAttempt(run, holder, { outcome: 'ok' });
  countAttempt(run, 'ok');
  if (finish.finished) {
    crashPoint('after_finish_commit_before_ack');
    if (finish.status === 'succeeded') noteSale(run);
    logEnd(deps.logger, success, finish);
  }
  const { status, deliveryId } = finish;
  return { kind: 'ok', code: null, ...(run.reportsEnd && { end: { status, deliveryId } }) };
}

function countAttempt({ deps, channel, begunAt }: AttemptRun, outcome: AttemptOutcome): void {
  deps.channels.count(channel.row.id, { outcome, ms: begunAt === null ? 0 : performance.now() - begunAt });
}

function noteSale({ deps, task, channel }: AttemptRun): void {
  deps.metrics.saleMade({
    model: task.modelId,
    channel: channel.row.name,
    credits: task.snapshot.credits ?? 0,
    costMicroUsd: channel.mapping.cost_micro_usd,
  });
}

async function reportOfOtherRun(run: AttemptRun, holder: AttemptHolder): Promise<AttemptReport> {
  const isThere = await patiently(run, () => hasAttempt(run.deps.db, holder.attemptId));
  if (!isThere) return (await leaveToNewHolder(run, holder)).report;
  const current = await takeRow(run);
  if (current && current.outcome !== null) return recordedReport(current);
  if (current?.fresh) await leaveUnsent(run, current);
  throw new AttemptInterrupted('another run has taken this attempt over');
}

/** Ends the attempt that `takeRow` began, because the other run had ended its own as too busy. Nothing was sent for it. */
async function leaveUnsent({ deps, channel, task }: AttemptRun, holder: AttemptHolder): Promise<void> {
  await deps.channels.release(channel.row, task.modelId);
  await endAttempt(deps.db, holder, {
    ...notSent('another run has ended this attempt'),
    retry: { seconds: 1, isPromised: true },
  });
}

function logAttempt({ deps, task, channel }: AttemptRun, { attemptId }: AttemptHolder, end: AttemptEnd): void {
  deps.logger.info(
    {
      task_id: task.taskId,
      request_id: task.requestId,
      attempt_id: attemptId,
      channel: channel.row.name,
      outcome: end.outcome,
      error_class: end.errorClass ?? undefined,
      status: end.status ?? undefined,
    },
    'attempt ended',
  );
}

/**
 * After the client requested a cancel, a failed attempt counts as canceled, because the cancel itself may have stopped the job.
 * No other channel is tried.
 */
async function canceledIfRequested(run: AttemptRun, end: AttemptEnd): Promise<AttemptEnd> {
  if (end.outcome !== 'transient' && end.code !== 'upstream_failed') return end;
  const task = await patiently(run, () => findTaskForAttempt(run.deps.db, run.task.taskId));
  return task?.cancelRequested ? { ...end, outcome: 'canceled', code: null } : end;
}
