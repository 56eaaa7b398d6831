import type { ErrorCode } from '../errors.ts';
import type { TaskErrorCode } from '../tasks/task.ts';
import type { ReportedRefusal } from '../chat/reported-refusal.ts';

/**
 * The class of a failed call, as recorded on the attempt row (rules "Routing").
 * `connect` nothing was sent · `rate_limit` 429 · `provider_error` 503 or a 5xx with the provider's own JSON error ·
 * `unreadable` 5xx without it, or a 2xx that cannot be read · `interrupted` timeout or reset after the body was sent, 408, 409, 425 ·
 * `account` 401, 402, exhausted quota · `forbidden` a 403 that gives no reason · `unknown_model` 404 or 410 at submit · `redirect` any 3xx · `rejected` 400, 413, 422 ·
 * `content_policy` moderation · `job_failed` the accepted job, or a 2xx without an answer, reported failure · `job_lost` the accepted job is gone ·
 * `deadline` the time of the request ran out · `output` the result could not be used.
 */
export type ErrorClass =
  | 'connect'
  | 'rate_limit'
  | 'provider_error'
  | 'unreadable'
  | 'interrupted'
  | 'account'
  | 'forbidden'
  | 'unknown_model'
  | 'redirect'
  | 'rejected'
  | 'content_policy'
  | 'job_failed'
  | 'job_lost'
  | 'deadline'
  | 'output';

/** What each error class means for a media submit: `unknown` if the provider may have billed the job (rules "Routing"). */
export const submitRule = {
  connect: 'transient',
  rate_limit: 'transient',
  provider_error: 'transient',
  account: 'transient',
  forbidden: 'transient',
  unknown_model: 'transient',
  redirect: 'transient',
  unreadable: 'unknown',
  interrupted: 'unknown',
  deadline: 'unknown',
  rejected: 'refused',
  content_policy: 'refused',
  job_failed: 'transient',
  job_lost: 'unknown',
  output: 'unknown',
} as const satisfies Record<ErrorClass, 'transient' | 'unknown' | 'refused'>;

/** Whether a provider may have billed a call that failed in this way, a chat too (`has_unknown_cost.sql`). */
export const mayBeBilled = (errorClass: ErrorClass): boolean => submitRule[errorClass] === 'unknown';

export interface Trouble {
  errorClass: ErrorClass;
  /** For operators and logs, at most 300 characters. Never shown to clients; never has a credential or a prompt. */
  detail: string;
  /** The upstream's HTTP status, if it answered. */
  status?: number;
  /** The provider's own words say that it lacks capacity for now, whatever the status. */
  lacksCapacity?: true;
  /**
   * The time ran out. `unanswered`: before the first byte of an answer, or the provider itself reports a timeout. `answering`:
   * after the answer's headers, so the channel works.
   */
  timedOut?: 'unanswered' | 'answering';
}

/**
 * The outcome of one call to one channel. `transient`: nothing was bought, the next channel may try. `refused`: the upstream
 * rejected the request itself, no other channel is tried. `unknown`: the upstream may have accepted the job, so it is neither
 * bought again nor billed.
 */
export type Attempt<T> =
  | { kind: 'ok'; value: T }
  | ({
      kind: 'refused';
      code: TaskErrorCode;
      /** The error code for the client of a chat. */
      clientCode?: ChatRefusalCode;
      /** What the provider says about the request. Never stored or logged, because it may quote the prompt. */
      reported?: ReportedRefusal;
    } & Trouble)
  | ({ kind: 'transient'; retryAfterSeconds?: number } & Trouble)
  | ({ kind: 'unknown' } & Trouble);

/** The error codes that a provider's refusal of a chat can become. */
export type ChatRefusalCode = Extract<
  ErrorCode,
  'content_policy_violation' | 'context_length_exceeded' | 'invalid_value'
>;

export type AttemptOutcome = Attempt<unknown>['kind'];
export const attemptOutcomes = ['ok', 'refused', 'transient', 'unknown'] as const satisfies readonly AttemptOutcome[];
/** What the row of a call may say. Only the jobs of tasks are canceled. */
export const recordedOutcomes = [...attemptOutcomes, 'canceled'] as const;
export type RecordedOutcome = (typeof recordedOutcomes)[number];

/** What a file of an answer is by the provider's words. `other`: a thumbnail, a frame, a sound. */
export type FileKind = 'image' | 'video' | 'other';

/** A result at the upstream, before it is copied into our own store. */
export interface UpstreamOutput {
  /** An absolute http(s) URL, or a `data:` URI. Untrusted: it came out of a provider's reply. */
  url: string;
  /** By the name of the field in the answer. Absent if that says nothing. */
  kind?: FileKind;
  mimeType?: string;
  width?: number;
  height?: number;
  /** Seconds. */
  duration?: number;
}

/** The result of one poll of an accepted job (rules "Routing", while polling). */
export type PollResult =
  | { kind: 'pending'; progress?: number }
  | { kind: 'done'; outputs: UpstreamOutput[] }
  /** The provider says that the job failed, or finished it without any output: the next channel may try. */
  | { kind: 'failed'; detail: string; status?: number }
  /** Refused by moderation, or because the request itself is invalid. */
  | { kind: 'refused'; code: TaskErrorCode; detail: string; status?: number }
  /** 404. Ignored in the first minute; `unknown` after five minutes. */
  | { kind: 'missing'; detail: string }
  /**
   * The poll failed (5xx, timeout, malformed answer): keep polling. `unknownWord`: the provider's word for the state, which the table lacks;
   * empty if it is no plain word. `finishedShape`: the provider calls the job finished, but its result
   * cannot be read. The keys and types of that answer, without values. After a few of these the job is given up.
   */
  | { kind: 'unclear'; detail: string; status?: number; unknownWord?: string; finishedShape?: string };
