import type { MediaRequest } from '../../../adapters/channel.ts';
import { findTaskRouting, markSeen, type AttemptEnd } from '../../../db/tasks/attempts.ts';
import { mapParameters, upstreamModel } from '../../../domain/catalog/upstream-parameters.ts';
import { hasMediaInputs, holdInputs } from './inputs-for-upstream.ts';
import { stopEndedTask } from './leave.ts';
import { AttemptInterrupted, findUsableChannel, type AttemptRun } from './run.ts';
import { reported, type ReportedAttempt } from './stages.ts';

/** How often a working worker updates the task row, so that the sweeps do not count the task as silent. */
export const seenEveryMs = 20_000;

/**
 * Prepares the inputs before the attempt row is written, because the row starts the submit's time limit. A later run that finds
 * the row must assume that the submit was sent.
 */
export async function prepareInputs(
  run: AttemptRun,
): Promise<{ stage: 'prepared'; run: AttemptRun } | ReportedAttempt> {
  const { deps, task, channel, signals } = run;
  if (!hasMediaInputs(task.input ?? {})) return { stage: 'prepared', run };
  const routing = await findTaskRouting(deps.db, task.taskId);
  const latest = routing?.attempted.findLast(({ channelId }) => channelId === channel.row.id);
  // After a call of a channel that was busy or could not be reached, nothing is under way, and the inputs are prepared again.
  if (latest && latest.retryAtMs === null) return { stage: 'prepared', run };
  const unwanted = new AbortController();
  const seen = setInterval(() => {
    markSeen(deps.db, task.taskId, null).then(
      ({ wanted }) => wanted || unwanted.abort(),
      () => undefined,
    );
  }, seenEveryMs);
  const { canceled, shutdown, draining = shutdown } = signals;
  const held = await hold(run, AbortSignal.any([canceled, shutdown, draining, unwanted.signal])).finally(() =>
    clearInterval(seen),
  );
  if (held) {
    // During a long wait, an operator may have changed the channel's credential or address.
    const current = await findUsableChannel(run);
    if (current?.row.adapter !== channel.row.adapter) return reported({ kind: 'skipped' });
    return { stage: 'prepared', run: { ...run, channel: current } };
  }
  if (shutdown.aborted || draining.aborted) throw new AttemptInterrupted('shutting down while waiting for inputs');
  if (canceled.aborted) return reported({ kind: 'skipped' });
  return unwanted.signal.aborted ? stopEndedTask(deps, task.taskId) : reported({ kind: 'deadline' });
}

/** The request of this attempt, equal in every run; or the end of the attempt if an input is not available. */
export async function buildRequest(
  run: AttemptRun,
  attemptId: string,
): Promise<{ request: MediaRequest } | { end: AttemptEnd }> {
  const { task, channel, signals, inputs } = run;
  if (inputs.request) return { request: inputs.request };
  const held = await hold(run, signals.shutdown);
  if (signals.shutdown.aborted && !held) throw new AttemptInterrupted('shutting down while waiting for inputs');
  if (!held) return { end: notSent("the task's deadline passed before its inputs were ready") };
  const read = await held.read();
  // Another channel may accept the URL itself, or a later fetch may succeed.
  if (read.kind === 'failed') return { end: { ...notSent(read.detail), errorClass: 'rejected' } };
  const input = task.input ?? {};
  inputs.request = {
    type: task.type,
    model: upstreamModel(channel.mapping, input),
    prompt: typeof input.prompt === 'string' ? input.prompt : '',
    parameters: mapParameters(channel.mapping, input),
    idempotencyKey: attemptId,
    ...(channel.mapping.inputs && { inputNames: channel.mapping.inputs }),
    ...read.inputs,
  };
  return { request: inputs.request };
}

/** The end of an attempt that sent nothing, for a reason on our side. */
export const notSent = (detail: string): AttemptEnd => ({
  outcome: 'transient',
  code: 'upstream_failed',
  errorClass: 'deadline',
  detail,
});

async function hold({ deps, task, channel, inputs, remainingMs }: AttemptRun, signal: AbortSignal) {
  inputs.held ??= await holdInputs(deps, {
    taskId: task.taskId,
    projectId: task.projectId,
    input: task.input ?? {},
    asBytes: channel.adapter.inputsAsBytes === true,
    remainingMs,
    signal,
  });
  return inputs.held;
}

/** Returns the memory of the inputs to the budget. A second call changes nothing. */
export function releaseInputs({ inputs }: AttemptRun): void {
  inputs.held?.release();
  inputs.held = null;
  inputs.request = null;
}
