import { beginAttempt, type AttemptMemory } from '../../../db/tasks/attempts.ts';
import { isCancelDue } from '../../../db/tasks/cancels.ts';
import type { TaskErrorCode } from '../../../domain/tasks/task.ts';
import type { AttemptReport } from '../../../domain/tasks/workflow-contract.ts';
import { newId } from '../../../platform/crypto/ids.ts';
import { patiently } from './patiently.ts';
import { releaseInputs } from './prepare-inputs.ts';
import { AttemptInterrupted, leaveIfDraining, submitLeaseSeconds, waitUnlessShutdown, type AttemptRun } from './run.ts';
import {
  reported,
  type AcceptedSubmit,
  type FinishedProviderJob,
  type FreshAttempt,
  type ReportedAttempt,
  type UnansweredSubmit,
} from './stages.ts';

/** Inserts the attempt row, or takes over the existing one and continues where its earlier run stopped. */
export async function beginAttemptRun(
  run: AttemptRun,
): Promise<FreshAttempt | UnansweredSubmit | AcceptedSubmit | FinishedProviderJob | ReportedAttempt> {
  if (run.started) return { stage: 'fresh', ...run.started };
  leaveIfDraining(run.signals);
  const taken = await takeRow(run);
  if (!taken) {
    // A task with a cancel request begins no attempt on any channel.
    return reported({
      kind: (await patiently(run, () => isCancelDue(run.deps.db, run.task.taskId))) ? 'canceled' : 'skipped',
    });
  }
  const { begunAt, ...holder } = taken;
  run.begunAt ??= begunAt;
  if (holder.outcome !== null) return reported(recordedReport(holder));
  if (holder.result) return { stage: 'finished', holder, results: holder.result };
  if (holder.operation) return { stage: 'accepted', holder, providerRef: holder.operation, resumed: true };
  return holder.fresh ? { stage: 'fresh', holder, begunAt } : { stage: 'unanswered', holder };
}

/** Waits while the submit of an earlier run may still be in flight. Returns null if no attempt may begin. */
export async function takeRow(run: AttemptRun): Promise<(AttemptMemory & { begunAt: number }) | null> {
  const { deps, task, channel, signals } = run;
  const readsMax = 1_000;
  for (let reads = 0; reads < readsMax; reads++) {
    const begunAt = performance.now();
    const start = {
      attemptId: newId('att'),
      taskId: task.taskId,
      channelId: channel.row.id,
      fence: newId('att'),
      submitSeconds: submitLeaseSeconds(run),
      costMicroUsd: channel.mapping.cost_micro_usd,
      probeSeconds: deps.config.breaker.probeSeconds,
      adapter: channel.row.adapter,
    };
    const memory = await patiently(run, () => beginAttempt(deps.db, start));
    if (!memory?.fresh) releaseInputs(run);
    if (!memory) return null;
    const { fresh, outcome, operation: providerRef, submitDeadlineMs } = memory;
    const mayBeInFlight = !fresh && outcome === null && !providerRef && submitDeadlineMs > 0;
    if (!mayBeInFlight) return { ...memory, begunAt };
    await waitUnlessShutdown(run, Math.min(submitDeadlineMs + 50, 1_000));
    if (signals.canceled.aborted) return null;
  }
  throw new AttemptInterrupted('the earlier submit never reached its deadline');
}

/** The report to the workflow about an attempt whose outcome is written. */
export function recordedReport({ outcome, code }: Pick<AttemptMemory, 'outcome' | 'code'>): AttemptReport {
  if (outcome === 'canceled' || outcome === null) return { kind: 'canceled' };
  return { kind: outcome, code: code as TaskErrorCode | null };
}
