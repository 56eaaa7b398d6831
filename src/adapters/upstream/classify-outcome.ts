import {
  submitRule,
  type Attempt,
  type ChatRefusalCode,
  type ErrorClass,
  type Trouble,
} from '../../domain/channels/upstream.ts';
import { readRetryAfter } from '../../platform/retry-after.ts';
import { isTimeout, type CallOutcome } from './call-upstream.ts';
import { fieldsIn } from '../chat/event-fields.ts';
import { problemOf } from '../reading/problem.ts';
import { ownStatus, statusOfWords } from './own-status.ts';
import { reportedDelay } from './reported-delay.ts';
import { reportedRefusal } from './reported-refusal.ts';

/**
 * How one family reads errors: the provider's error types and codes, never its prose, which could quote the prompt. Null means
 * that the body tells no error, or is not from this provider but, for example, from a proxy.
 */
export type ReadError = (json: unknown, status?: number) => string[] | null;

/** A 2xx in which the provider says that it could not make the answer, though its policy refused nothing. */
export class FailedAnswer {
  /** The provider's word. */
  readonly reason: string;

  constructor(reason: string) {
    this.reason = reason;
  }
}

/** Nothing was made, and the same request may succeed on the next channel. */
const failedAttempt = ({ reason }: FailedAnswer, status: number) => ({
  kind: 'transient' as const,
  errorClass: 'job_failed' as const,
  detail: brief(`HTTP ${status}, no answer: ${plainWord(reason)}`),
  status,
});

/** What an outcome means: a usable answer, or the class of the error. */
export type OutcomeVerdict<T> =
  { kind: 'ok'; value: T; status: number } | ({ kind: 'trouble'; retryAfterSeconds?: number } & Trouble);

/** Reads an outcome by the table of rules "Routing". `read` returns null when a 2xx answer cannot be used. */
export function readOutcome<T>(
  outcome: CallOutcome,
  read: (json: unknown) => T | null,
  readError: ReadError,
  now: () => number = Date.now,
): OutcomeVerdict<T> {
  if (outcome.kind !== 'answered') return unanswered(outcome);
  const { status, body } = outcome;
  if (status >= 200 && status < 300) {
    const value = 'json' in body ? read(body.json) : null;
    return value === null ? unreadable(outcome, 'unexpected shape') : { kind: 'ok', value, status };
  }
  const own = 'json' in body ? readError(body.json, status) : null;
  const errorClass = errorRows.find(({ when }) => when(status, own))?.is ?? 'unreadable';
  return reportedTrouble(outcome, own, errorClass, now);
}

type Answered = Extract<CallOutcome, { kind: 'answered' }>;

/** Nothing came back. */
export function unanswered({ kind, detail }: Exclude<CallOutcome, Answered>): OutcomeVerdict<never> {
  if (kind === 'not_sent') return { kind: 'trouble', errorClass: 'connect', detail: brief(detail) };
  const timedOut = isTimeout(detail) ? ({ timedOut: 'unanswered' } as const) : {};
  return { kind: 'trouble', errorClass: 'interrupted', detail: brief(detail), ...timedOut };
}

/** A 2xx that is neither a usable answer nor an error. `shape` describes its JSON. */
export function unreadable({ status, body }: Answered, shape: string): OutcomeVerdict<never> {
  const why = 'json' in body ? shape : body.unreadable;
  // An answer that came too slowly is a timeout after the request was sent, not an unreadable answer.
  const trouble = { kind: 'trouble' as const, detail: brief(`HTTP ${status}, ${why}`), status };
  if (why === 'timed_out') return { ...trouble, errorClass: 'interrupted', timedOut: 'answering' };
  return { ...trouble, errorClass: 'unreadable' };
}

/** An error that the provider told, with its words. */
export function reportedTrouble(
  { status, headers, body }: Answered,
  own: string[] | null,
  errorClass: ErrorClass,
  now: () => number,
): OutcomeVerdict<never> {
  const detail = brief(['HTTP', status, ...(own ?? []).map(plainWord).filter(Boolean)].join(' '));
  const mayTellWhen = errorClass === 'rate_limit' || errorClass === 'provider_error';
  const delay = 'json' in body ? reportedDelay(body.json) : undefined;
  const retryAfterSeconds = mayTellWhen ? retryAfter(headers['retry-after'], now, delay) : undefined;
  return {
    kind: 'trouble',
    errorClass,
    detail,
    status,
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    ...(timeoutStatuses.has(status) && { timedOut: 'unanswered' }),
  };
}

/** How providers and the proxies before them report a timeout. 524 is Cloudflare's; Gemini sends 504 for a prompt that takes too long. */
const timeoutStatuses: ReadonlySet<number> = new Set([408, 504, 524]);

/**
 * The first matching row decides, and without one the error is `unreadable`. Words come first, because providers report
 * moderation and quota with many statuses.
 */
export type ErrorRow = { when: (status: number, own: string[] | null) => boolean; is: ErrorClass };
const errorRows: readonly ErrorRow[] = [
  { when: (status) => status < 400, is: 'redirect' },
  { when: (status, own) => status < 500 && hasWord(own, contentPolicyWords), is: 'content_policy' },
  // The account's own running requests reach its limit, as with a 429. The account is not empty.
  { when: (status, own) => status === 402 && hasWord(own, inFlightWords), is: 'rate_limit' },
  { when: (status, own) => status < 500 && hasWord(own, accountWords), is: 'account' },
  { when: (status, own) => status < 500 && hasWord(own, unknownModelWords), is: 'unknown_model' },
  // A 429 that says so is about the capacity of the provider, not about our rate (Kimi, GLM).
  { when: (status, own) => status === 429 && hasWord(own, overloadedWords), is: 'provider_error' },
  ...statusRows(),
];
/** What a status means if no word decides. */
export function statusRows(): ErrorRow[] {
  return [
    { when: (status) => status === 401 || status === 402, is: 'account' },
    // OpenRouter and xAI answer a flagged prompt with 403, so without a known word it proves nothing about the account.
    { when: (status) => status === 403, is: 'forbidden' },
    { when: (status) => status === 404 || status === 410, is: 'unknown_model' },
    { when: (status) => status === 408 || status === 409 || status === 425, is: 'interrupted' },
    { when: (status) => status === 429, is: 'rate_limit' },
    { when: (status) => status < 500, is: 'rejected' },
    // 529 is Anthropic's word for an overload.
    { when: (status, own) => status === 503 || status === 529 || own !== null, is: 'provider_error' },
  ];
}

const contentPolicyWords =
  /content[_ -]?(policy|filter|moderation)|moderation|safety|nsfw|sensitive|prohibited_content|data_?inspection/i;
const accountWords =
  /insufficient_(quota|balance|credits|funds)|exhausted_balance|quota_exceeded|exceeded_current_quota|billing|user_locked|arrearage|account_deactivated/i;
const overloadedWords = /^(engine_)?overloaded(_error)?$/i;
const inFlightWords = /in_flight_budget/i;
const unknownModelWords = /model_not_found|unknown_model|app_not_found/i;

/** Whether a provider's words say that its policy refused the request or its result. */
const isContentPolicy = (words: string[]): boolean => hasWord(words, contentPolicyWords);

const hasWord = (own: string[] | null, words: RegExp): boolean => own?.some((word) => words.test(word)) ?? false;

/** What a verdict means for a media submit. */
export function toSubmit<T>(verdict: OutcomeVerdict<T | FailedAnswer>): Attempt<T> {
  if (verdict.kind === 'ok') {
    const { value, status } = verdict;
    return value instanceof FailedAnswer ? failedAttempt(value, status) : { kind: 'ok', value };
  }
  const { kind: _, ...trouble } = verdict;
  const kind = submitRule[trouble.errorClass];
  if (kind !== 'refused') return { kind, ...trouble };
  const code = trouble.errorClass === 'content_policy' ? 'content_policy_violation' : 'upstream_failed';
  return { kind, code, ...trouble };
}

/**
 * The result of a chat. `read` returns `blocked` for a 2xx which says that the provider's policy refused the prompt. Without an
 * answer nothing was bought, so the gateway tries the next channel after every error except a refusal of the request.
 */
export function classifyChat<T extends object>(
  outcome: CallOutcome,
  read: (json: unknown) => T | 'blocked' | FailedAnswer | null,
  readError: ReadError,
): Attempt<T> {
  const verdict = readOutcome(outcome, read, readError);
  if (verdict.kind === 'ok') {
    const { value, status } = verdict;
    if (value instanceof FailedAnswer) return failedChat(value, status);
    return value === 'blocked' ? blockedPrompt : { kind: 'ok', value };
  }
  const inside = verdict.errorClass === 'unreadable' ? errorInside(outcome, readError) : null;
  if (inside) return inside;
  const { kind: _, ...trouble } = verdict;
  if (trouble.errorClass === 'content_policy') return { ...chatRefusal('content_policy_violation'), ...trouble };
  if (trouble.errorClass !== 'rejected') return { kind: 'transient', ...trouble };
  const isTooLong = /\bcontext_length_exceeded\b/.test(trouble.detail);
  if (isTooLong) return { ...chatRefusal('context_length_exceeded'), ...trouble };
  const reported = outcome.kind === 'answered' && 'json' in outcome.body ? reportedRefusal(outcome.body.json) : null;
  return { ...chatRefusal('invalid_value'), ...trouble, ...(reported && { reported }) };
}

/** The error in the JSON of a 2xx, as if it had come with its status; null if there is none. */
function errorInside(outcome: CallOutcome, readError: ReadError): Exclude<Attempt<never>, { kind: 'ok' }> | null {
  if (outcome.kind !== 'answered' || outcome.status >= 300 || !('json' in outcome.body)) return null;
  const { json } = outcome.body;
  const words = reportedError(json, readError);
  // Without a status or a word that tells one it says no more than an unreadable answer.
  const isReported = words !== null && (isContentPolicy(words) || ownStatus(json, words) !== undefined);
  return isReported ? inBandError(json, words) : null;
}

/** The words of the error that an event or a body tells, also in a form that its family is not known to send; null if there is none. */
export function reportedError(json: unknown, readError: ReadError): string[] | null {
  if (!mayReportError(json)) return null;
  const own = readError(json);
  if (own) return own;
  const problem = problemOf(json);
  if (problem) return problem.codes.filter((code) => plainWord(code) !== '');
  return fieldsIn(json)?.type === 'error' ? [] : null;
}

/**
 * Whether an event or a body may be an error, so that its family has to read it. Nearly all events are pieces, which take 0.004 µs here and 1.7 with
 * the schema of an error (medians of 9 interleaved runs, 27 November 2026).
 */
function mayReportError(json: unknown): boolean {
  const event = fieldsIn(json);
  if ((event?.error ?? null) !== null || event?.object === 'error' || event?.type === 'error') return true;
  // MiniMax, whose every answer says here how it went.
  const code = fieldsIn(event?.base_resp)?.status_code;
  return typeof code === 'number' && code !== 0;
}

/**
 * An error inside a 200, by the status that it names or that its words come with; else 500. With 400 the words of moderation count, as they do
 * not with 500.
 */
export const inBandError = (json: unknown, words: string[]): Exclude<Attempt<never>, { kind: 'ok' }> =>
  errorWith(isContentPolicy(words) ? 400 : (ownStatus(json, words) ?? 500), json, words);

/** A chat whose answer the provider itself calls failed, for one of the reasons for which it could have refused it with a status. */
export function failedChat(answer: FailedAnswer, status: number): Exclude<Attempt<never>, { kind: 'ok' }> {
  const own = statusOfWords([answer.reason]);
  return own === undefined ? failedAttempt(answer, status) : errorWith(own, null, [answer.reason]);
}

function errorWith(status: number, json: unknown, words: string[]): Exclude<Attempt<never>, { kind: 'ok' }> {
  const outcome = { kind: 'answered' as const, status, headers: {}, body: { json } };
  const attempt = classifyChat(
    outcome,
    () => null,
    () => words,
  );
  if (attempt.kind === 'ok') throw new Error('an error was read as an answer');
  return attempt;
}

const chatRefusal = (clientCode: ChatRefusalCode) => ({
  kind: 'refused' as const,
  code: clientCode === 'content_policy_violation' ? clientCode : ('upstream_failed' as const),
  clientCode,
});

/** The provider's policy refused the prompt, as a 2xx or an event says. */
export const blockedPrompt: Exclude<Attempt<never>, { kind: 'ok' }> = {
  ...chatRefusal('content_policy_violation'),
  errorClass: 'content_policy',
  detail: 'the prompt was blocked',
};

const detailCharactersMax = 300;
const brief = (text: string): string => text.slice(0, detailCharactersMax);

/** A machine-readable word, or an empty text: text with spaces may be prose, and prose may quote the request. */
export const plainWord = (word: string): string => (/^[\w.:-]{1,128}$/.test(word) ? word : '');

const retryAfterSecondsMax = 86_400;

/** The upstream's `Retry-After`, else the delay that its error tells, from 1 s to one day. Undefined without a usable one. */
function retryAfter(header: string | undefined, now: () => number, delay: number | undefined): number | undefined {
  const seconds = readRetryAfter(header, now()) ?? delay;
  return seconds === undefined ? undefined : Math.min(Math.max(Math.ceil(seconds), 1), retryAfterSecondsMax);
}
