import type { PollResult, UpstreamOutput } from '../../domain/channels/upstream.ts';
import { isEmpty } from './fields.ts';
import type { NamedState } from './provider-job-state.ts';
import { shapeOf } from './shape.ts';

/** What the answer to a poll says, as a family's reader found it. */
export interface ProviderJobReport {
  /** The whole answer, for its shape. */
  json: unknown;
  /** What the family calls a job, for details: `the task`, `the prediction`. */
  noun: string;
  named: NamedState;
  progress?: number | undefined;
  outputs: UpstreamOutput[];
  /** The parts of the answer where results belong. If outputs are missing, they decide between "nothing there" and "unreadable". */
  results: readonly unknown[];
  /** Why a finished job has no outputs, if the provider says that its policy withheld them. */
  withheld?: string | undefined;
  /** The reason of a job that failed, by the family's table of codes and phrases. */
  reason: FailureReason;
}

export interface FailureReason {
  /** The provider's code, or an empty text. Never prose. */
  code: string;
  /** `policy`: the content policy. `invalid`: the request itself. Otherwise the next channel may succeed. */
  means: 'policy' | 'invalid' | 'failure';
}

/**
 * What a poll came to. The state decides, then the results; every other part of an answer is optional. Null if the answer names no
 * state and has no results: then it is an error, or unreadable.
 */
export function pollResultOf(report: ProviderJobReport): PollResult | null {
  const { named, noun, outputs, progress } = report;
  switch (named.state) {
    case 'queued':
    case 'running':
      return { kind: 'pending', ...(progress !== undefined && { progress }) };
    case 'unknown':
      return { kind: 'unclear', detail: `${noun} has an unknown state ${named.word}`.trim(), unknownWord: named.word };
    case 'lost':
      return { kind: 'missing', detail: `${noun} is unknown or has expired` };
    case 'failed':
    case 'canceled':
      return failedProviderJob(`${noun} ended ${named.word} ${report.reason.code}`.trim(), report.reason);
    case 'absent':
      return outputs.length > 0 ? { kind: 'done', outputs } : null;
    case 'succeeded':
      return outputs.length > 0 ? { kind: 'done', outputs } : withoutOutputs(report);
  }
}

/** The result of a job that failed. */
function failedProviderJob(detail: string, { means }: FailureReason): PollResult {
  if (means === 'policy') return { kind: 'refused', code: 'content_policy_violation', detail };
  return means === 'invalid' ? { kind: 'refused', code: 'upstream_failed', detail } : { kind: 'failed', detail };
}

/** A finished job without outputs. Only the provider's own word makes that a refusal by its policy. */
function withoutOutputs({ withheld, results, json }: ProviderJobReport): PollResult {
  if (withheld !== undefined) return { kind: 'refused', code: 'content_policy_violation', detail: withheld };
  if (results.every(isEmpty)) return { kind: 'failed', detail: noOutput };
  return { kind: 'unclear', detail: 'finished, with a result that cannot be read', finishedShape: shapeOf(json) };
}

/** The detail of a job that finished with nothing in it. */
export const noOutput = 'done without outputs';
