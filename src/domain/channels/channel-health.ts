import type { Attempt, ErrorClass } from './upstream.ts';

/** What one outcome says about its channel (rules "Routing", last column). */
export type HealthNote =
  | { kind: 'success' }
  | { kind: 'failure'; reason: ErrorClass }
  /** A timeout or a 403 without a reason. The request may have caused it, so it is a failure only if others confirm it. */
  | { kind: 'doubtful'; reason: ErrorClass }
  /** No traffic for as long as it asked, or for a fixed time. */
  | { kind: 'rate_limit'; requestedSeconds: number | undefined }
  /** Our account there: only an operator can mend it. */
  | { kind: 'account' }
  | { kind: 'unknown_model' }
  | { kind: 'neutral' };

/** 400 and failed jobs say something about the request, not about the channel. A model that is slow but answers is no failure. */
export function healthNoteOf(attempt: Attempt<unknown>): HealthNote {
  if (attempt.kind === 'ok') return { kind: 'success' };
  if (attempt.timedOut === 'unanswered') return { kind: 'doubtful', reason: attempt.errorClass };
  if (attempt.timedOut === 'answering') return { kind: 'neutral' };
  switch (attempt.errorClass) {
    case 'rate_limit':
      return {
        kind: 'rate_limit',
        requestedSeconds: attempt.kind === 'transient' ? attempt.retryAfterSeconds : undefined,
      };
    case 'forbidden':
      return { kind: 'doubtful', reason: attempt.errorClass };
    case 'account':
    case 'unknown_model':
      return { kind: attempt.errorClass };
    case 'connect':
    case 'provider_error':
    case 'unreadable':
    case 'interrupted':
    case 'redirect':
      return { kind: 'failure', reason: attempt.errorClass };
    case 'rejected':
    case 'content_policy':
    case 'job_failed':
    case 'job_lost':
    case 'deadline':
    case 'output':
      return { kind: 'neutral' };
  }
}

/** What the answer to a channel's free call says about the whole channel. No client's request can have caused it. */
export type FreeCallNote =
  | { kind: 'success' }
  /** `trip`: the provider cannot be reached, so that calls of clients would fail as well. */
  | { kind: 'failure'; reason: ErrorClass; trip: boolean }
  | { kind: 'account' }
  | { kind: 'neutral' };

/** A provider whose list of models is missing, limited or refused with a 400 may still serve every call of a client. */
export function freeCallNoteOf(attempt: Attempt<unknown>): FreeCallNote {
  if (attempt.kind === 'ok') return { kind: 'success' };
  const { errorClass: reason } = attempt;
  const note = healthNoteOf(attempt);
  if (reason === 'forbidden' || note.kind === 'account') return { kind: 'account' };
  if (note.kind === 'failure' || note.kind === 'doubtful')
    return { kind: 'failure', reason, trip: reason === 'connect' };
  return { kind: 'neutral' };
}

const busyStatuses: ReadonlySet<number> = new Set([429, 503, 529]);

/** When a media task may call a channel again that was too busy for it. */
export interface BusyChannel {
  seconds: number;
  /** The provider said that it is only for now. Without that, a 503 may be an outage. */
  isPromised: boolean;
}

/**
 * For how long a media task leaves a channel alone that was too busy for it: as long as the provider asked, else `usualSeconds`, at
 * most `maxSeconds`. Null if the channel did not fail because it was busy. Busy are a rate limit and a lack of capacity: 429, 503,
 * 529, or the same words in an answer with another status. A 500, 502 or 504 is a failure of the provider.
 */
export function busyChannel(
  attempt: Attempt<unknown>,
  { usualSeconds, maxSeconds }: { usualSeconds: number; maxSeconds: number },
): BusyChannel | null {
  if (attempt.kind !== 'transient') return null;
  const { errorClass, status = 0, retryAfterSeconds } = attempt;
  const isBusy = attempt.lacksCapacity === true || busyStatuses.has(status);
  const lacksCapacity = errorClass === 'provider_error' && isBusy;
  const isLimit = errorClass === 'rate_limit';
  if (!isLimit && !lacksCapacity) return null;
  const seconds = Math.min(retryAfterSeconds ?? usualSeconds, maxSeconds);
  return { seconds, isPromised: isLimit || status === 429 || retryAfterSeconds !== undefined };
}

/** For how long a media task leaves a channel alone that it could not reach. Nothing was sent, so the next call costs nothing there. */
const unreachableSeconds = 3;

/**
 * When a media task may call a channel again that has bought nothing for it: the channel was too busy (`busyChannel`), or could not be
 * reached. Null after any other outcome.
 */
export function mayCallAgain(
  attempt: Attempt<unknown>,
  busyBounds: { usualSeconds: number; maxSeconds: number },
): BusyChannel | null {
  const isUnreachable = attempt.kind === 'transient' && attempt.errorClass === 'connect';
  return isUnreachable ? { seconds: unreachableSeconds, isPromised: false } : busyChannel(attempt, busyBounds);
}

/** Outcomes of one channel and model in the last minute, as one process saw them. */
export interface OutcomeWindow {
  /** Unix milliseconds (any steady clock) and whether it failed; oldest first. */
  outcomes: { at: number; failed: boolean }[];
}

const windowMs = 60_000;
const outcomesMax = 200;

/** Notes an outcome; true for a failure when more than half of ten or more in the last minute failed. */
export function noteOutcome(window: OutcomeWindow, failed: boolean, now: number): boolean {
  window.outcomes.push({ at: now, failed });
  while (window.outcomes.length > outcomesMax || (window.outcomes[0] && window.outcomes[0].at <= now - windowMs)) {
    window.outcomes.shift();
  }
  if (!failed) return false;
  const failures = window.outcomes.filter((outcome) => outcome.failed).length;
  return window.outcomes.length >= 10 && failures * 2 > window.outcomes.length;
}
