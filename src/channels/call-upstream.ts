import { Agent, type Dispatcher } from 'undici';
import type { ChatRefusalCode, ErrorClass, Attempt } from '../domain/upstream.ts';
import type { TaskErrorCode } from '../domain/task.ts';
import type { JsonObject } from '../domain/json.ts';
import { readRetryAfter } from '../platform/retry-after.ts';
import type { Upstream } from './channel.ts';
import { multipart, type FormPart } from './multipart.ts';

/**
 * The only HTTP caller towards a channel's own configured origin. One call is one request: no retry, no redirect, no proxy
 * from the environment, no compression. It never throws for what the network or the provider does; what happened is told
 * as a `CallOutcome`, and the tables below say what each outcome means (rules "Routing").
 */
export interface UpstreamCaller {
  call(upstream: Upstream, call: UpstreamCall): Promise<CallOutcome>;
  /** Ends every connection; calls under way end as interrupted. */
  close(): Promise<void>;
}

export interface UpstreamCall {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Appended to the channel's base URL; starts with a slash, its segments already encoded. */
  path: string;
  headers?: Record<string, string>;
  /** Sent as JSON. */
  body?: JsonObject;
  /** Sent as multipart/form-data instead of `body`. */
  form?: FormPart[];
  /** Ends the call, whatever it is doing. */
  signal: AbortSignal;
  /** The whole call, in milliseconds; the caller's `totalMs` when absent. */
  timeoutMs?: number;
  /** Until the answer's headers, in milliseconds; the caller's `headersMs` when absent. */
  headersMs?: number;
  /** More than this is cut and cannot be read. Bytes; `mediaJsonBytesMax` when absent. */
  bodyBytesMax?: number;
}

/** What a call came to, as far as it can be known from here. */
export type CallOutcome =
  /** Refused connection, DNS, TLS, or ended while still waiting for a connection: the provider saw nothing. */
  | { kind: 'not_sent'; detail: string }
  /** The request left and no status came back: the provider may have acted on it. */
  | { kind: 'interrupted'; detail: string }
  | { kind: 'answered'; status: number; headers: Record<string, string>; body: AnswerBody };

export type AnswerBody =
  { json: unknown } | { unreadable: 'empty' | 'not_json' | 'cut_short' | 'timed_out' | 'too_large' | 'encoded' };

/** All in milliseconds. undici's own defaults (300 s) would hold a worker far beyond an attempt's deadline. */
export interface UpstreamTimeouts {
  connectMs: number;
  /** From the request's last byte to the answer's headers. */
  headersMs: number;
  /** Between two pieces of the answer. */
  idleBodyMs: number;
  /** The whole call: a drip that never idles still ends. */
  totalMs: number;
}

export const upstreamTimeouts: UpstreamTimeouts = {
  connectMs: 5_000,
  headersMs: 30_000,
  idleBodyMs: 15_000,
  totalMs: 90_000,
};

/** A media reply is a few URLs; anything near this is a fault or an attack. */
export const mediaJsonBytesMax = 4_000_000;

/** Enough for every task in flight to poll at once, without one channel eating the process's descriptors. */
const connectionsPerOriginMax = 512;

/** Keeps one connection pool for each upstream origin. Built once, in main. */
export function createUpstreamCaller(options: Partial<UpstreamTimeouts> = {}): UpstreamCaller {
  const timeouts = { ...upstreamTimeouts, ...options };
  const agent = new Agent({
    connect: { timeout: timeouts.connectMs },
    headersTimeout: timeouts.headersMs,
    bodyTimeout: timeouts.idleBodyMs,
    connections: connectionsPerOriginMax,
    pipelining: 1,
    // Shorter than common servers' idle limits: a request written to a socket that is just being closed would be "unknown".
    keepAliveTimeout: 4_000,
    keepAliveMaxTimeout: 30_000,
  });
  return {
    call: (upstream, call) => callOnce(agent, timeouts, upstream, call),
    close: () => agent.destroy(),
  };
}

function callOnce(
  agent: Agent,
  timeouts: UpstreamTimeouts,
  upstream: Upstream,
  call: UpstreamCall,
): Promise<CallOutcome> {
  const url = URL.parse(`${upstream.baseUrl}${call.path}`);
  if (!url) return Promise.resolve({ kind: 'not_sent', detail: 'the base URL is not a URL' });
  const bytesMax = call.bodyBytesMax ?? mediaJsonBytesMax;
  const sent = call.form
    ? multipart(call.form)
    : call.body && { type: 'application/json', bytes: JSON.stringify(call.body) };
  return new Promise((resolve) => {
    let controller: Dispatcher.DispatchController | undefined;
    let answer: { status: number; headers: Record<string, string> } | undefined;
    let ended = false;
    const chunks: Buffer[] = [];
    let bytes = 0;

    const end = (outcome: CallOutcome): void => {
      if (ended) return;
      ended = true;
      clearTimeout(timer);
      call.signal.removeEventListener('abort', onAbort);
      resolve(outcome);
    };
    /** What is known when the exchange stops before its end. */
    const stop = (why: string): void => {
      if (answer)
        end({ kind: 'answered', ...answer, body: { unreadable: ownTimeouts.has(why) ? 'timed_out' : 'cut_short' } });
      else if (controller) end({ kind: 'interrupted', detail: why });
      else end({ kind: 'not_sent', detail: why });
      controller?.abort(new Error(why));
    };
    const onAbort = () => stop('ended by the caller');
    const timer = setTimeout(() => stop('timeout'), call.timeoutMs ?? timeouts.totalMs);
    if (call.signal.aborted) return onAbort();
    call.signal.addEventListener('abort', onAbort, { once: true });

    agent.dispatch(
      {
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method: call.method,
        headers: {
          accept: 'application/json',
          ...(upstream.requestId !== undefined && { 'x-request-id': upstream.requestId }),
          // A compressed answer could unpack to any size; none is asked for, and none is read.
          'accept-encoding': 'identity',
          ...(sent && { 'content-type': sent.type }),
          ...call.headers,
        },
        body: sent ? sent.bytes : null,
        headersTimeout: call.headersMs ?? timeouts.headersMs,
      },
      {
        // Called when a connection stands and the request is about to be written: before it, nothing was sent.
        onRequestStart(started) {
          if (ended) started.abort(new Error('ended before it was sent'));
          else controller = started;
        },
        onResponseStart(_controller, status, headers) {
          if (status >= 200) answer = { status, headers: oneValueEach(headers) };
        },
        onResponseData(_controller, chunk) {
          bytes += chunk.length;
          if (bytes <= bytesMax) chunks.push(chunk);
          else if (answer) {
            end({ kind: 'answered', ...answer, body: { unreadable: 'too_large' } });
            controller?.abort(new Error('answer too large'));
          }
        },
        onResponseEnd() {
          if (!answer) return stop('no status');
          const encoding = answer.headers['content-encoding'] ?? 'identity';
          const body: AnswerBody = encoding === 'identity' ? parse(Buffer.concat(chunks)) : { unreadable: 'encoded' };
          end({ kind: 'answered', ...answer, body });
        },
        onResponseError(_controller, error) {
          stop(nameOf(error));
        },
      },
    );
  });
}

/** Why `callOnce` or undici ended an exchange that took too long. */
const ownTimeouts: ReadonlySet<string> = new Set(['timeout', 'ended by the caller', 'UND_ERR_BODY_TIMEOUT']);

const parse = (bytes: Buffer): AnswerBody => {
  if (bytes.length === 0) return { unreadable: 'empty' };
  try {
    const json: unknown = JSON.parse(bytes.toString('utf8'));
    return { json };
  } catch {
    return { unreadable: 'not_json' };
  }
};

const oneValueEach = (headers: Record<string, string | string[] | undefined>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name.toLowerCase(),
      Array.isArray(value) ? (value[0] ?? '') : (value ?? ''),
    ]),
  );

/** An error's code or name: its message may hold an address or a piece of a reply. */
const nameOf = (error: Error & { code?: unknown }): string =>
  typeof error.code === 'string' ? error.code : error.name;

/** A provider's own error, as far as a family's adapter reads it. */
export interface ProviderError {
  /** The provider's machine-readable words (type, code), never its prose: prose may quote the prompt. */
  words: string[];
}

/** How one family reads errors: null when the body is not this provider's own error (a proxy's page, a load balancer's JSON). */
export type ReadError = (json: unknown) => ProviderError | null;

/** What a whole outcome means. `value` is set if and only if the answer was good. */
export type Verdict<T> =
  | { kind: 'ok'; value: T; status: number }
  | { kind: 'trouble'; errorClass: ErrorClass; detail: string; status?: number; retryAfterSeconds?: number };

/**
 * Reads an outcome by the table of rules "Routing". `read` gives null when a 2xx answer cannot be used; `readError` says
 * whether a body is the provider's own error.
 */
export function readOutcome<T>(
  outcome: CallOutcome,
  read: (json: unknown) => T | null,
  readError: ReadError,
  now: () => number = Date.now,
): Verdict<T> {
  if (outcome.kind === 'not_sent') return { kind: 'trouble', errorClass: 'connect', detail: brief(outcome.detail) };
  if (outcome.kind === 'interrupted') {
    return { kind: 'trouble', errorClass: 'interrupted', detail: brief(outcome.detail) };
  }
  const { status, headers, body } = outcome;
  if (status >= 200 && status < 300) {
    const value = 'json' in body ? read(body.json) : null;
    if (value !== null) return { kind: 'ok', value, status };
    const why = 'json' in body ? 'unexpected shape' : body.unreadable;
    // A drip is a timeout after the request was sent, not an answer that cannot be read.
    const errorClass = why === 'timed_out' ? 'interrupted' : 'unreadable';
    return { kind: 'trouble', errorClass, detail: `HTTP ${status}, ${why}`, status };
  }
  const own = 'json' in body ? readError(body.json) : null;
  const errorClass = errorClassOf(status, own);
  const words = own ? own.words.map(plainWord).filter(Boolean).join(' ') : '';
  const detail = brief(['HTTP', status, words].join(' ').trim());
  const retryAfterSeconds = errorClass === 'rate_limit' ? retryAfter(headers['retry-after'], now) : undefined;
  return { kind: 'trouble', errorClass, detail, status, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) };
}

/** First row that fits decides. Words come first: providers spread moderation and quota over many statuses. */
const errorRows: { when: (status: number, own: ProviderError | null) => boolean; is: ErrorClass }[] = [
  { when: (status) => status < 400, is: 'redirect' },
  { when: (status, own) => status < 500 && speaks(own, contentPolicyWords), is: 'content_policy' },
  { when: (status, own) => status < 500 && speaks(own, accountWords), is: 'account' },
  { when: (status, own) => status < 500 && speaks(own, unknownModelWords), is: 'unknown_model' },
  { when: (status) => status === 401 || status === 402 || status === 403, is: 'account' },
  { when: (status) => status === 404, is: 'unknown_model' },
  { when: (status) => status === 408 || status === 409 || status === 425, is: 'interrupted' },
  { when: (status) => status === 429, is: 'rate_limit' },
  { when: (status) => status < 500, is: 'rejected' },
  { when: (status, own) => status === 503 || own !== null, is: 'provider_error' },
  { when: () => true, is: 'unreadable' },
];
const contentPolicyWords =
  /content[_ -]?(policy|filter|moderation)|moderation|safety|nsfw|sensitive|prohibited_content/i;
const accountWords = /insufficient_(quota|balance|credits|funds)|exhausted_balance|quota_exceeded|billing|user_locked/i;
const unknownModelWords = /model_not_found|unknown_model|app_not_found/i;

/** Whether a provider's words say that its policy refused the request or its result. */
export const isContentPolicy = (words: readonly string[]): boolean =>
  words.some((word) => contentPolicyWords.test(word));

const speaks = (own: ProviderError | null, words: RegExp): boolean =>
  own?.words.some((word) => words.test(word)) ?? false;

function errorClassOf(status: number, own: ProviderError | null): ErrorClass {
  return errorRows.find(({ when }) => when(status, own))?.is ?? 'unreadable';
}

/** What each kind of trouble means for a media submit: whether the job may have been bought (rules "Routing"). */
export const submitRule = {
  connect: 'transient',
  rate_limit: 'transient',
  provider_error: 'transient',
  account: 'transient',
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

/** What a media submit came to. */
export function classifySubmit<T>(
  outcome: CallOutcome,
  read: (json: unknown) => T | null,
  readError: ReadError,
): Attempt<T> {
  const verdict = readOutcome(outcome, read, readError);
  if (verdict.kind === 'ok') return { kind: 'ok', value: verdict.value };
  const { errorClass, detail, status, retryAfterSeconds } = verdict;
  const trouble = { errorClass, detail, ...(status !== undefined && { status }) };
  const kind = submitRule[errorClass];
  if (kind === 'refused') return { kind, code: refusalCode(errorClass), ...trouble };
  if (kind === 'unknown') return { kind, ...trouble };
  return { kind, ...trouble, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) };
}

const refusalCode = (errorClass: ErrorClass): TaskErrorCode =>
  errorClass === 'content_policy' ? 'content_policy_violation' : 'upstream_failed';

/** A chat reply is text; anything near this is a fault or an attack. Bytes. */
export const chatJsonBytesMax = 8_000_000;

/** The same for a chat (rules "Routing", column Chat). Nothing is bought by an answer that we do not have. */
export const chatRule = {
  connect: 'transient',
  rate_limit: 'transient',
  provider_error: 'transient',
  account: 'transient',
  unknown_model: 'transient',
  redirect: 'transient',
  unreadable: 'transient',
  interrupted: 'transient',
  deadline: 'transient',
  rejected: 'refused',
  content_policy: 'refused',
  job_failed: 'transient',
  job_lost: 'transient',
  output: 'transient',
} as const satisfies Record<ErrorClass, 'transient' | 'refused'>;

/** What a chat came to. `read` gives `blocked` for a 2xx that says that the provider's policy refused the prompt. */
export function classifyChat<T extends object>(
  outcome: CallOutcome,
  read: (json: unknown) => T | 'blocked' | null,
  readError: ReadError,
): Attempt<T> {
  const verdict = readOutcome(outcome, read, readError);
  if (verdict.kind === 'ok') {
    if (verdict.value !== 'blocked') return { kind: 'ok', value: verdict.value };
    return {
      ...chatRefusal('content_policy_violation'),
      errorClass: 'content_policy',
      detail: 'the prompt was blocked',
    };
  }
  const { errorClass, detail, status, retryAfterSeconds } = verdict;
  const trouble = { errorClass, detail, ...(status !== undefined && { status }) };
  const kind = chatRule[errorClass];
  if (kind === 'transient') return { kind, ...trouble, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) };
  if (errorClass === 'content_policy') return { ...chatRefusal('content_policy_violation'), ...trouble };
  const isTooLong = /\bcontext_length_exceeded\b/.test(detail);
  return { ...chatRefusal(isTooLong ? 'context_length_exceeded' : 'invalid_value'), ...trouble };
}

const chatRefusal = (clientCode: ChatRefusalCode) => ({
  kind: 'refused' as const,
  code: clientCode === 'content_policy_violation' ? clientCode : ('upstream_failed' as const),
  clientCode,
});

const detailCharactersMax = 300;
const brief = (text: string): string => text.slice(0, detailCharactersMax);

/** A machine-readable word, or nothing: what has spaces may be prose, and prose may quote the request. */
const plainWord = (word: string): string => (/^[\w.:-]{1,64}$/.test(word) ? word : '');

const retryAfterSecondsMax = 86_400;

/** How long the upstream asks to be left alone: at least 1 s, at most a day; undefined when it does not say. */
function retryAfter(header: string | undefined, now: () => number): number | undefined {
  const seconds = readRetryAfter(header, now());
  return seconds === null ? undefined : Math.min(Math.max(seconds, 1), retryAfterSecondsMax);
}
