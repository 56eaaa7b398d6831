import type { ErrorCode } from './errors.ts';
import type { TaskErrorCode } from './task.ts';

/**
 * What kind of trouble a call met, as recorded on the attempt row (rules "Routing").
 * `connect` nothing was sent · `rate_limit` 429 · `provider_error` 503 or a 5xx with the provider's own JSON error ·
 * `unreadable` 5xx without it, or a 2xx that cannot be read · `interrupted` timeout or reset after the body was sent, 408, 409, 425 ·
 * `account` 401, 403, 402, exhausted quota · `unknown_model` 404 at submit · `redirect` any 3xx · `rejected` 400, 413, 422 ·
 * `content_policy` moderation · `job_failed` the accepted job reported failure · `job_lost` the accepted job is gone ·
 * `deadline` we ran out of time · `output` the result could not be used.
 */
export type ErrorClass =
  | 'connect'
  | 'rate_limit'
  | 'provider_error'
  | 'unreadable'
  | 'interrupted'
  | 'account'
  | 'unknown_model'
  | 'redirect'
  | 'rejected'
  | 'content_policy'
  | 'job_failed'
  | 'job_lost'
  | 'deadline'
  | 'output';

interface Trouble {
  errorClass: ErrorClass;
  /** For operators and logs; never shown to clients, never carries a credential or a prompt. At most 300 characters. */
  detail: string;
  /** The upstream's HTTP status, when it answered. */
  status?: number;
}

/**
 * What one try on one channel came to. `transient`: nothing was bought, the next channel may try. `refused`: the request
 * itself was turned down, no other channel is asked. `unknown`: the upstream may have taken the job, so it is neither
 * bought again nor billed.
 */
export type Attempt<T> =
  | { kind: 'ok'; value: T }
  | ({
      kind: 'refused';
      code: TaskErrorCode;
      /** What a chat's client is told. */
      clientCode?: ChatRefusalCode;
    } & Trouble)
  | ({ kind: 'transient'; retryAfterSeconds?: number } & Trouble)
  | ({ kind: 'unknown' } & Trouble);

/** What a provider's refusal of a chat is to our client: rows of the error table. */
export type ChatRefusalCode = Extract<
  ErrorCode,
  'content_policy_violation' | 'context_length_exceeded' | 'invalid_value'
>;

export type AttemptOutcome = Attempt<unknown>['kind'];

/** A result that the upstream offers, before it is copied into our own store. */
export interface UpstreamOutput {
  /** An absolute http(s) URL, or a `data:` URI. Untrusted: it came out of a provider's reply. */
  url: string;
  mimeType?: string;
  width?: number;
  height?: number;
  /** Seconds. */
  duration?: number;
}

/** What one look at an accepted job says (rules "Routing", while polling). */
export type PollResult =
  | { kind: 'pending'; progress?: number }
  | { kind: 'done'; outputs: UpstreamOutput[] }
  /** The provider says that the job failed: nothing was bought, the next channel may try. */
  | { kind: 'failed'; detail: string; status?: number }
  /** Moderation, or done without any output. */
  | { kind: 'refused'; code: TaskErrorCode; detail: string; status?: number }
  /** 404: forgiven for the first minute, `unknown` after five. */
  | { kind: 'missing'; detail: string }
  /** This look told nothing (5xx, timeout, malformed): keep polling. */
  | { kind: 'unclear'; detail: string; status?: number };
