import { findTaskForAttempt, hasAttempt, startAttempt, type AttemptTask } from '../../../db/tasks/attempts.ts';
import { isTerminal } from '../../../domain/tasks/task.ts';
import { newId } from '../../../platform/crypto/ids.ts';
import type { AttemptInput, AttemptReport } from '../../../domain/tasks/workflow-contract.ts';
import { CREDENTIALS_MAX } from '../../../domain/channels/draw-credential.ts';
import { keepWriting } from '../../keep-writing.ts';
import { beginAttemptRun, recordedReport } from './begin.ts';
import { copyResults } from './copy-results.ts';
import { leaveEndedTask, lostAttempt } from './leave.ts';
import { findSubmit } from './find-submit.ts';
import { pollProviderJob } from './poll-provider-job.ts';
import { prepareInputs, releaseInputs } from './prepare-inputs.ts';
import { recordEnd, recordResults } from './record-end.ts';
import {
  AttemptInterrupted,
  findCallableChannel,
  leaveIfDraining,
  submitLeaseSecondsOf,
  usableFor,
  type AttemptDeps,
  type AttemptRun,
  type AttemptSignals,
  type CallableChannel,
} from './run.ts';
import { submit } from './submit.ts';
import { takeSlot } from './take-slot.ts';
import { tieToCredential, type Begun } from './own-credential.ts';

/**
 * Runs a media task on one channel, from submit to stored outputs, and ends the task if it succeeds. The attempt row records its progress and
 * is written before the call, so Temporal may run the attempt again at any point. It submits at most once, resumes polling the submitted job,
 * and reports an outcome that is already recorded. A job that takes longer than `pollInlineSeconds` is parked, if the workflow can wait for it;
 * a later run collects its result. It returns every outcome. It throws only if the database is unavailable, the process shuts down, or another
 * run has taken the attempt over.
 */
export async function runAttempt(
  deps: AttemptDeps,
  input: AttemptInput,
  signals: AttemptSignals,
): Promise<AttemptReport> {
  const failed = new Set<string>();
  // Each turn but the last adds a credential that failed.
  for (;;) {
    const before = failed.size;
    const report = await runOnce(deps, input, signals, failed);
    const mayGoOn = report.kind === 'transient' && failed.size > before && failed.size < CREDENTIALS_MAX;
    const next = mayGoOn ? await findCallableChannel(deps, input.channelId, { failed, takesTurn: false }) : null;
    if (next?.mayBegin !== true) return report;
  }
}

/** One attempt of `runAttempt`. A submit that failed for its credential alone adds it to `failed`; then its row lets another one begin. */
async function runOnce(
  deps: AttemptDeps,
  input: AttemptInput,
  signals: AttemptSignals,
  failed: Set<string>,
): Promise<AttemptReport> {
  leaveIfDraining(signals);
  // A run that collects a parked job begins no call.
  const found = await findCallableChannel(deps, input.channelId, { failed, takesTurn: input.attemptId === undefined });
  const taken = await takeSlot(deps, input, found, failed);
  if (taken === 'full') return { kind: 'skipped' };
  try {
    return await runOn(deps, input, signals, { ...taken, failed });
  } finally {
    if (taken.slot && !taken.slot.isTied) await deps.channels.calls.undo(taken.slot.callId);
  }
}

async function runOn(
  deps: AttemptDeps,
  input: AttemptInput,
  signals: AttemptSignals,
  { callable, slot, failed }: Exclude<Awaited<ReturnType<typeof takeSlot>>, 'full'> & { failed: Set<string> },
): Promise<AttemptReport> {
  const { task, started } = await startOrRead(deps, input, callable, signals);
  if (!task || isTerminal(task.status)) return (await leaveEndedTask(deps, input.taskId, task?.status)).report;
  // Before the channel and the inputs are looked at, because an outcome stands whatever has become of them.
  if (task.begun && task.begun.outcome !== null) return recordedReport(task.begun);
  if (!task.begun && input.attemptId !== undefined && !(await hasAttempt(deps.db, input.attemptId)))
    return lostAttempt(deps, input.taskId);
  if (!started && task.remainingMs <= 0) return { kind: 'deadline' };
  const channel = callable && usableFor(task, callable);
  if (!channel || (!callable.mayBegin && !task.begun)) return skip(deps, input);

  const deadline = performance.now() + task.remainingMs;
  const remainingMs = () => deadline - performance.now();
  const run = {
    deps,
    task,
    channel,
    signals,
    inputs: { held: null, request: null },
    started,
    begunAt: started?.begunAt ?? (task.begun && performance.now() - task.begun.ageMs),
    parkable: input.parkable === true,
    reportsEnd: input.reportsEnd === true,
    remainingMs,
    failedCredentials: failed,
    slot,
  };
  try {
    const prepared = await prepareInputs(run);
    return prepared.stage === 'prepared' ? await runStages(prepared.run) : prepared.report;
  } finally {
    releaseInputs(run);
  }
}

/**
 * Reads the task and, if nothing has to be prepared, begins its attempt in the same statement. Repeated with the same fencing token for as
 * long as the row grants to the submit: another run that found the row would have to assume that the submit was sent.
 */
async function startOrRead(
  deps: AttemptDeps,
  { taskId, channelId, attemptId }: AttemptInput,
  callable: (CallableChannel & { mayBegin: boolean }) | null,
  { shutdown }: AttemptSignals,
): Promise<{ task: AttemptTask | null; started: AttemptRun['started'] }> {
  if (callable?.mayBegin !== true || attemptId !== undefined)
    return { task: await findTaskForAttempt(deps.db, taskId, channelId), started: null };
  const { row, adapter } = callable;
  const holder = { attemptId: newId('att'), fence: newId('att') };
  const begunAt = performance.now();
  const submitSeconds = {
    image: submitLeaseSecondsOf(deps, adapter, 'image'),
    video: submitLeaseSecondsOf(deps, adapter, 'video'),
  };
  const { probeSeconds } = deps.config.breaker;
  const start = { ...holder, taskId, channelId, submitSeconds, probeSeconds, adapter: row.adapter };
  const until = begunAt + Math.min(submitSeconds.image, submitSeconds.video) * 1_000;
  const task = await keepWriting(() => startAttempt(deps.db, start), {
    leftMs: () => until - performance.now(),
    signal: shutdown,
  });
  return { task, started: task?.started ? { holder, begunAt } : null };
}

/** Each stage takes the result of an earlier one; `beginAttemptRun` enters at the stage that the row has reached. */
async function runStages(run: AttemptRun): Promise<AttemptReport> {
  const begun = await beginAttemptRun(run);
  if (begun.stage === 'reported') return begun.report;
  run.signals.noteBegun?.(begun.holder.attemptId);
  const tied = await tieToCredential(run, begun);
  if ('stage' in tied) return tied.stage === 'decided' ? recordEnd(run, tied) : tied.report;
  return runTied(tied, begun);
}

async function runTied(run: AttemptRun, begun: Begun): Promise<AttemptReport> {
  const submitted = begun.stage === 'fresh' ? await submit(run, begun) : begun;
  const found = submitted.stage === 'unanswered' ? await findSubmit(run, submitted) : submitted;
  const polled = found.stage === 'accepted' ? await pollProviderJob(run, found) : found;
  const copied = polled.stage === 'finished' ? await copyResults(run, polled) : polled;
  if (copied.stage === 'copied') return recordResults(run, copied);
  return copied.stage === 'decided' ? recordEnd(run, copied) : copied.report;
}

/**
 * Skips a channel that cannot be used. If another run of this attempt has ended meanwhile, its outcome is reported. If it still
 * runs, this throws, because it may have bought the job and no other channel may buy the job again.
 */
async function skip({ db }: AttemptDeps, { taskId, channelId }: AttemptInput): Promise<AttemptReport> {
  const begun = (await findTaskForAttempt(db, taskId, channelId))?.begun;
  if (!begun) return { kind: 'skipped' };
  if (begun.outcome === null) throw new AttemptInterrupted('the channel of a running attempt cannot be used');
  return recordedReport(begun);
}
