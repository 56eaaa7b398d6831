import { isAnsweredSynchronously } from '../../../channels/channel.ts';
import { markSeen, type AttemptEnd } from '../../../db/attempts.ts';
import type { PollResult } from '../../../domain/upstream.ts';
import { crashPoint } from '../../../platform/crash-point.ts';
import { takeResults } from './copy-results.ts';
import { giveUp } from './leave.ts';
import { seenEveryMs } from './prepare-inputs.ts';
import { callSignal, waitUnlessShutdown, type AttemptRun } from './run.ts';
import { decided, reported, type AcceptedJob, type Ending, type FinishedJob } from './stages.ts';

/** Polls the accepted job until it ends, the task is canceled or the task's deadline passes. */
export async function pollJob(run: AttemptRun, { holder, operation }: AcceptedJob): Promise<FinishedJob | Ending> {
  const { deps, task, channel, signals, remainingMs } = run;
  const { config } = deps;
  if (isAnsweredSynchronously(operation)) {
    return decided(holder, lostJob('the synchronous results were lost before they were stored'));
  }
  if (!channel.adapter.pollMedia) return reported({ kind: 'skipped' });
  let waitMs = config.attempts.pollIntervalMinMs;
  let seenAt = performance.now();
  let missingSince: number | null = null;
  // Bounded by the deadline: each turn waits for at least one interval.
  while (remainingMs() > 0) {
    await waitUnlessShutdown(run, Math.min(waitMs, remainingMs()));
    if (signals.canceled.aborted) return giveUp(run, holder);
    const polled = await channel.adapter.pollMedia(channel.upstream, operation, { signal: callSignal(run) });
    if (polled.kind === 'done') return takeResults(run, holder, polled.outputs);
    if (polled.kind === 'failed' || polled.kind === 'refused') return decided(holder, jobEnd(polled));
    crashPoint('mid_poll');

    missingSince = polled.kind === 'missing' ? (missingSince ?? performance.now()) : null;
    if (missingSince !== null && performance.now() - missingSince > config.attempts.missingJobLostSeconds * 1000) {
      return decided(holder, { ...lostJob('the upstream no longer has the job'), status: 404 });
    }
    if (performance.now() - seenAt > seenEveryMs) {
      const progress = polled.kind === 'pending' ? (polled.progress ?? null) : null;
      const { wanted } = await markSeen(deps.db, task.taskId, progress);
      if (!wanted) return giveUp(run, holder);
      seenAt = performance.now();
    }
    waitMs = Math.min(waitMs * 1.3, config.attempts.pollIntervalMaxMs);
  }
  return reported({ kind: 'deadline' });
}

const jobEnd = (polled: Extract<PollResult, { kind: 'failed' | 'refused' }>): AttemptEnd => ({
  ...(polled.kind === 'failed'
    ? { outcome: 'transient', code: 'upstream_failed', errorClass: 'job_failed' }
    : { outcome: 'refused', code: polled.code, errorClass: 'content_policy' }),
  status: polled.status ?? null,
  detail: polled.detail,
});

const lostJob = (detail: string): AttemptEnd => ({
  outcome: 'unknown',
  code: 'upstream_outcome_unknown',
  errorClass: 'job_lost',
  detail,
});
