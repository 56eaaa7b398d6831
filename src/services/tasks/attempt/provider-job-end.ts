import type { AttemptEnd } from '../../../db/tasks/attempts.ts';
import type { PollResult } from '../../../domain/channels/upstream.ts';

/** The end of an attempt whose job failed. Refused by the policy, or as a wrong request: no other channel is called. */
export const providerJobEnd = (
  polled: Extract<PollResult, { kind: 'failed' | 'refused' }>,
): AttemptEnd & { errorClass: string } => ({
  ...(polled.kind === 'failed'
    ? { outcome: 'transient', code: 'upstream_failed', errorClass: 'job_failed' }
    : {
        outcome: 'refused',
        code: polled.code,
        errorClass: polled.code === 'upstream_failed' ? 'rejected' : 'content_policy',
      }),
  status: polled.status ?? null,
  detail: polled.detail,
});

/** The end of an attempt whose job is finished, and whose result cannot be read. `shape` has keys and types only. */
export const unreadableProviderJob = (shape: string): AttemptEnd => ({
  outcome: 'refused',
  code: 'upstream_invalid_response',
  errorClass: 'output',
  detail: `finished, and unreadable: ${shape}`,
});

/** The end of an attempt whose job may have been made and cannot be found. */
export const lostProviderJob = (detail: string): AttemptEnd => ({
  outcome: 'unknown',
  code: 'upstream_outcome_unknown',
  errorClass: 'job_lost',
  detail,
});
