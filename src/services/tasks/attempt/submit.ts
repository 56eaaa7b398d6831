import { answeredSynchronously, type ProviderRef, type SubmitResult } from '../../../adapters/channel.ts';
import { mediaFamilies } from '../../../adapters/registry.ts';
import { renewSubmit, saveProviderRef } from '../../../db/tasks/attempts.ts';
import { mayCallAgain, type BusyChannel } from '../../../domain/channels/channel-health.ts';
import { CREDENTIALS_MAX, isOfCredential } from '../../../domain/channels/draw-credential.ts';
import type { Attempt } from '../../../domain/channels/upstream.ts';
import { unsentInput } from '../../../domain/tasks/media-support.ts';
import { crashPoint } from '../../../platform/crash-point.ts';
import { leaveToNewHolder } from './leave.ts';
import { patiently } from './patiently.ts';
import { buildRequest, notSent, releaseInputs } from './prepare-inputs.ts';
import { findCallableChannel, submitLeaseSeconds, submitSeconds, timeoutSignal, type AttemptRun } from './run.ts';
import {
  decided,
  reported,
  type AcceptedSubmit,
  type AttemptHolder,
  type Ending,
  type FinishedProviderJob,
  type FreshAttempt,
  type ReportedAttempt,
  type UnansweredSubmit,
} from './stages.ts';

type Submitted = UnansweredSubmit | AcceptedSubmit | FinishedProviderJob | Ending;

/** A submit that starts this long after its row was written first checks that no other run has taken the row over. */
const renewAfterMs = 1_000;

/** Submits the job, once. Ignores cancellation, because we must know whether the upstream accepted the job. */
export async function submit(run: AttemptRun, { holder, begunAt }: FreshAttempt): Promise<Submitted> {
  const { deps, task, channel } = run;
  crashPoint('after_attempt_row');
  if (!channel.adapter.submitMedia) return reported({ kind: 'skipped' });
  const built = await buildInTime(run, holder);
  if ('end' in built) {
    await deps.channels.release(channel.row, task.modelId);
    return decided(holder, built.end);
  }
  // Reading the inputs, or a frozen process, may have used up the time that the row grants to this submit. After that time
  // another run may ask the provider about this submit, and buy from another channel.
  if (performance.now() - begunAt > renewAfterMs) {
    const renewed = await patiently(run, () => renewSubmit(deps.db, holder, submitLeaseSeconds(run)));
    if (!renewed) return leaveToNewHolder(run, holder);
  }
  const { modelId, projectId } = task;
  const call = { modelId, projectId, startedAt: performance.now() };
  void deps.channels.begin(channel.row, call);
  const attempt = await channel.adapter.submitMedia(channel.upstream, built.request, {
    signal: timeoutSignal(Math.min(submitSeconds(run) * 1000, run.remainingMs())),
  });
  if (attempt.kind === 'ok' || attempt.kind === 'done') crashPoint('after_upstream_accept_before_save');
  const outcome = attempt.kind === 'done' ? ({ kind: 'ok', value: null } as const) : attempt;
  deps.metrics.upstreamCalled({
    channel: channel.row.name,
    model: modelId,
    operation: 'submit',
    outcome: outcome.kind,
    ms: performance.now() - call.startedAt,
  });
  // Begun before and awaited after the write of the answer, which must not wait for it.
  const noted = deps.channels.note(channel.row, call, outcome);
  // The lookup sends the same inputs again.
  if (attempt.kind !== 'unknown') releaseInputs(run);
  const answered: Submitted =
    attempt.kind === 'unknown'
      ? { stage: 'unanswered', holder, submitted: attempt }
      : await afterAnswer(run, holder, attempt);
  await noted;
  return answered;
}

async function buildInTime(run: AttemptRun, { attemptId }: AttemptHolder): ReturnType<typeof buildRequest> {
  try {
    const built = await buildRequest(run, attemptId);
    if ('end' in built) return built;
    // A task of an earlier release may name a family that would not send all of it.
    const { task, channel } = run;
    const unsent = unsentInput(mediaFamilies[channel.row.adapter], task.type, task.input ?? {});
    if (unsent) return { end: { ...notSent(`the adapter ${unsent.why}`), errorClass: 'rejected' } };
    if (run.remainingMs() > 0) return built;
    return { end: notSent("the task's deadline passed before the submit was sent") };
  } catch (error) {
    // Throwing here would leave a row from which a later run could not see that nothing was sent.
    run.deps.logger.error({ err: error, task_id: run.task.taskId }, 'the inputs of a task could not be read');
    return { end: { ...notSent('our copy of an input could not be read'), errorClass: 'rejected' } };
  }
}

async function afterAnswer(
  run: AttemptRun,
  holder: AttemptHolder,
  attempt: Exclude<SubmitResult, { kind: 'unknown' }>,
): Promise<AcceptedSubmit | FinishedProviderJob | Ending> {
  if (attempt.kind === 'ok') return acceptProviderJob(run, holder, attempt.value);
  if (attempt.kind === 'done') {
    const accepted = await acceptProviderJob(run, holder, attempt.providerRef ?? answeredSynchronously);
    if (accepted.stage !== 'accepted') return accepted;
    const finished = { stage: 'finished', holder, results: attempt.outputs } as const;
    // With a reference another worker can poll for the results.
    return attempt.providerRef ? finished : { ...finished, synchronous: true };
  }
  return decided(holder, {
    outcome: attempt.kind,
    code: attempt.kind === 'refused' ? attempt.code : 'upstream_failed',
    errorClass: attempt.errorClass,
    status: attempt.status ?? null,
    detail: attempt.detail,
    retry: (await ofOtherCredential(run, attempt)) ?? mayCallAgain(attempt, busyBounds(run)),
  });
}

/** A failure of one credential alone: the next attempt on the channel may begin now, with another one. Null if there is none. */
async function ofOtherCredential(
  { deps, channel: { row }, failedCredentials }: AttemptRun,
  attempt: Attempt<unknown>,
): Promise<BusyChannel | null> {
  if (row.credentials.length === 1 || !isOfCredential(attempt)) return null;
  failedCredentials.add(row.credential.id);
  const hasOther =
    (await findCallableChannel(deps, row.id, { failed: failedCredentials, takesTurn: false }))?.mayBegin === true;
  return hasOther && failedCredentials.size < CREDENTIALS_MAX ? { seconds: 0, isPromised: true } : null;
}

/** The waits of a channel that cools down after a 429, so that the task comes back when the channel does. */
const busyBounds = ({ deps: { config } }: AttemptRun) => ({
  usualSeconds: config.breaker.rateLimitCoolDownSeconds,
  maxSeconds: config.breaker.rateLimitCoolDownMaxSeconds,
});

/** Saves the upstream's job reference before the first poll, as often as it takes: without it a bought job counts as lost. */
export async function acceptProviderJob(
  run: AttemptRun,
  holder: AttemptHolder,
  providerRef: ProviderRef,
): Promise<AcceptedSubmit | ReportedAttempt> {
  const ours = await patiently(run, () => saveProviderRef(run.deps.db, holder, providerRef));
  return ours ? { stage: 'accepted', holder, providerRef, resumed: false } : leaveToNewHolder(run, holder);
}
