import { isAnsweredSynchronously } from '../../../adapters/channel.ts';
import { markSeen } from '../../../db/tasks/attempts.ts';
import { markMissing, parkProviderJob, readAcceptedProviderJob } from '../../../db/tasks/parked-provider-jobs.ts';
import type { PollResult } from '../../../domain/channels/upstream.ts';
import { crashPoint } from '../../../platform/crash-point.ts';
import { parkedPollBounds } from './parked-poll-bounds.ts';
import { providerJobEnd, lostProviderJob, unreadableProviderJob } from './provider-job-end.ts';
import { giveUp, leaveToNewHolder } from './leave.ts';
import { alarmUnknownWord, alarmUnreadable, unreadablePollsMax } from './odd-answers.ts';
import { patiently } from './patiently.ts';
import { seenEveryMs } from './prepare-inputs.ts';
import { callSignal, waitUnlessShutdown, type AttemptRun } from './run.ts';
import {
  decided,
  reported,
  type AcceptedSubmit,
  type AttemptHolder,
  type Ending,
  type FinishedProviderJob,
  type ReportedAttempt,
} from './stages.ts';

/**
 * Polls the accepted job until it ends, the task is canceled or the task's deadline passes. Parks a job that runs for longer than
 * `pollInlineSeconds`, because most videos take minutes and would hold the slots of all other tasks.
 */
export async function pollProviderJob(
  run: AttemptRun,
  accepted: AcceptedSubmit,
): Promise<FinishedProviderJob | Ending> {
  const { deps, task, channel, signals, remainingMs } = run;
  const { holder, providerRef } = accepted;
  const { pollIntervalMinMs, pollIntervalMaxMs, pollInlineSeconds } = deps.config.attempts;
  if (isAnsweredSynchronously(providerRef)) {
    return decided(holder, lostProviderJob('the synchronous results were lost before they were stored'));
  }
  if (!channel.adapter.pollMedia) return reported({ kind: 'skipped' });
  const recorded = accepted.resumed
    ? await patiently(run, () => readAcceptedProviderJob(deps.db, holder))
    : { acceptedMs: 0, missingMs: null };
  if (!recorded) return leaveToNewHolder(run, holder);
  const inlineUntil = performance.now() - recorded.acceptedMs + pollInlineSeconds * 1000;
  const absence = trackAbsence(run, holder, recorded.missingMs);
  // The result of a job that an earlier run has polled may be waiting.
  let waitMs = accepted.resumed ? 0 : pollIntervalMinMs;
  let seenAt = performance.now();
  let shownProgress = -1;
  let unreadable = 0;
  // Bounded by the deadline: each turn but the first waits for at least one interval.
  while (remainingMs() > 0) {
    await waitUnlessShutdown(run, Math.min(waitMs, remainingMs()));
    if (signals.canceled.aborted) return giveUp(run, holder);
    const polled = await poll(run, channel.adapter.pollMedia.bind(channel.adapter), providerRef);
    if (isUnreadable(polled)) unreadable += 1;
    const end = endOf(run, holder, polled, unreadable);
    if (end) return end;
    if (await absence.isLost(polled)) {
      return decided(holder, { ...lostProviderJob('the upstream no longer has the job'), status: 404 });
    }
    waitMs = Math.max(pollIntervalMinMs, Math.min(waitMs * 1.3, pollIntervalMaxMs));
    // A finished job that cannot be read ends after a few more polls, so it is not parked again.
    const parks = run.parkable && unreadable === 0 && performance.now() + waitMs > inlineUntil;
    const progress = polled.kind === 'pending' ? (polled.progress ?? null) : null;
    if (parks || (progress ?? -1) > shownProgress || performance.now() - seenAt > seenEveryMs) {
      shownProgress = Math.max(shownProgress, progress ?? -1);
      const { wanted } = await patiently(run, () => markSeen(deps.db, task.taskId, progress));
      if (!wanted) return giveUp(run, holder);
      seenAt = performance.now();
    }
    if (parks) return park(run, holder);
  }
  return reported({ kind: 'deadline' });
}

/** Asks the provider once. */
async function poll(
  run: AttemptRun,
  pollMedia: NonNullable<AttemptRun['channel']['adapter']['pollMedia']>,
  providerRef: AcceptedSubmit['providerRef'],
): Promise<PollResult> {
  const { deps, channel } = run;
  const polledAt = performance.now();
  const polled = await pollMedia(channel.upstream, providerRef, { signal: callSignal(run) });
  deps.metrics.upstreamCalled({
    channel: channel.row.name,
    operation: 'poll',
    outcome: polled.kind,
    ms: performance.now() - polledAt,
  });
  return polled;
}

type Unreadable = Extract<PollResult, { kind: 'unclear' }> & { finishedShape: string };
const isUnreadable = (polled: PollResult): polled is Unreadable =>
  polled.kind === 'unclear' && polled.finishedShape !== undefined;

/** The end of a job that a poll tells, with the alarms about odd answers. Null for a job that goes on being polled. */
function endOf(
  { deps, task, channel }: AttemptRun,
  holder: AttemptHolder,
  polled: PollResult,
  unreadable: number,
): FinishedProviderJob | Ending | null {
  if (polled.kind === 'done') return { stage: 'finished', holder, results: polled.outputs };
  if (polled.kind === 'failed' || polled.kind === 'refused') return decided(holder, providerJobEnd(polled));
  crashPoint('mid_poll');
  const where = { attemptId: holder.attemptId, taskId: task.taskId, channel: channel.row.name };
  alarmUnknownWord(deps, where, polled);
  if (!isUnreadable(polled) || unreadable < unreadablePollsMax) return null;
  alarmUnreadable(deps, where, polled.finishedShape);
  return decided(holder, unreadableProviderJob(polled.finishedShape));
}

/** Leaves the job to the poller (`poll-parked-provider-jobs.ts`). From then on this run must not write to the row. */
async function park(run: AttemptRun, holder: AttemptHolder): Promise<ReportedAttempt> {
  const { deps, task } = run;
  const ours = await patiently(run, () =>
    parkProviderJob(deps.db, holder, task.projectId, parkedPollBounds(deps.config)),
  );
  return ours ? reported({ kind: 'parked', attemptId: holder.attemptId }) : leaveToNewHolder(run, holder);
}

/** Since when the upstream answers 404. The row has it too, so that a change of the worker does not start the time again. */
function trackAbsence(run: AttemptRun, { attemptId }: AttemptHolder, missingMs: number | null) {
  const { deps } = run;
  let since = missingMs === null ? null : performance.now() - missingMs;
  return {
    async isLost({ kind }: PollResult): Promise<boolean> {
      const isMissing = kind === 'missing';
      if (isMissing !== (since !== null)) {
        await patiently(run, () => markMissing(deps.db, attemptId, isMissing));
        since = isMissing ? performance.now() : null;
      }
      return since !== null && performance.now() - since > deps.config.attempts.missingProviderJobLostSeconds * 1000;
    },
  };
}
