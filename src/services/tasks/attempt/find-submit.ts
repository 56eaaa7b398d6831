import { buildRequest, releaseInputs } from './prepare-inputs.ts';
import { callSignal, type AttemptRun } from './run.ts';
import { decided, type AcceptedSubmit, type Ending, type UnansweredSubmit } from './stages.ts';
import { acceptProviderJob } from './submit.ts';

/** Looks the job up at the provider by our idempotency key. The outcome is unknown if the provider supports no such lookup. */
export async function findSubmit(
  run: AttemptRun,
  { holder, submitted }: UnansweredSubmit,
): Promise<AcceptedSubmit | Ending> {
  const { adapter, upstream } = run.channel;
  const built = adapter.findMedia && (await buildRequest(run, holder.attemptId));
  if (adapter.findMedia && built && 'request' in built) {
    const found = await adapter.findMedia(upstream, built.request, { signal: callSignal(run) });
    releaseInputs(run);
    if (found.kind === 'ok' && found.value) return acceptProviderJob(run, holder, found.value);
    if (found.kind === 'ok') {
      return decided(holder, {
        outcome: 'transient',
        errorClass: 'interrupted',
        detail: 'the provider has no job with our idempotency key',
      });
    }
  }
  releaseInputs(run);
  return decided(holder, {
    outcome: 'unknown',
    code: 'upstream_outcome_unknown',
    errorClass: submitted?.errorClass ?? 'interrupted',
    status: submitted?.status ?? null,
    detail:
      submitted?.detail ?? 'the submit was interrupted on our side and the provider has no lookup by idempotency key',
  });
}
