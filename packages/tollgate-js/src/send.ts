import { readRefusal, TollgateConnectionError, TollgateError } from './errors.ts';
import { pause, spread } from './pause.ts';

/** A gateway and how it is called. */
export interface Connection {
  baseUrl: string;
  apiKey: string;
  /** How often one request is sent again. */
  retriesMax: number;
  fetch: typeof globalThis.fetch;
}

export interface Call {
  method: 'GET' | 'POST';
  path: string;
  body?: object;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
}

export interface Reply {
  body: unknown;
  headers: Headers;
}

/** A gateway that is up answers within this time, beside the time for which it was asked to wait. */
const ANSWER_MS = 30_000;
const BACKOFF_FIRST_MS = 500;
const BACKOFF_MAX_MS = 8_000;
/** A longer `Retry-After` is for the caller to decide. */
const RETRY_AFTER_MAX_SECONDS = 120;

/** Sends a request, which the gateway may hold for `heldMs`, and returns its JSON answer. Retries as `withRetries` does. */
export const sendJson = (connection: Connection, call: Call, heldMs = 0): Promise<Reply> =>
  withRetries(connection, call.signal, () =>
    withTimeout(ANSWER_MS + heldMs, call.signal, async (signal) => {
      const response = await request(connection, { ...call, signal });
      return { body: await reach(() => response.json() as Promise<unknown>), headers: response.headers };
    }),
  );

/** Sends a request and returns its answer as soon as the headers have arrived. Retries as `withRetries` does. */
export const openStream = (connection: Connection, call: Call): Promise<Response> =>
  withRetries(connection, call.signal, () =>
    withTimeout(ANSWER_MS, call.signal, (signal) => request(connection, { ...call, signal })),
  );

/**
 * Tries again after a lost connection, 408, 429 and 5xx, never earlier than `Retry-After` says. The request has to be safe to repeat: a read,
 * or a create with its idempotency key. Throws the last `TollgateError` or `TollgateConnectionError`, or the reason of `signal`.
 */
async function withRetries<T>(
  { retriesMax }: Connection,
  signal: AbortSignal | undefined,
  attempt: () => Promise<T>,
): Promise<T> {
  for (let retry = 1; ; retry += 1) {
    try {
      return await attempt();
    } catch (error) {
      signal?.throwIfAborted();
      const waitMs = retryDelayMs(error, retry);
      if (waitMs === null || retry > retriesMax) throw error;
      await pause(spread(waitMs), signal);
    }
  }
}

/** Null for an error after which the same request would fail again. */
function retryDelayMs(error: unknown, retry: number): number | null {
  const backoffMs = Math.min(BACKOFF_FIRST_MS * 2 ** (retry - 1), BACKOFF_MAX_MS);
  if (error instanceof TollgateConnectionError) return backoffMs;
  if (!(error instanceof TollgateError) || !error.mayRetry) return null;
  if (error.retryAfterSeconds === null) return backoffMs;
  return error.retryAfterSeconds > RETRY_AFTER_MAX_SECONDS ? null : error.retryAfterSeconds * 1_000;
}

/** Runs `work` with a signal that fires when `signal` does, or when the work takes longer than `ms`. */
async function withTimeout<T>(
  ms: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new Error(`The gateway did not answer within ${ms / 1_000} s.`)), ms);
  try {
    return await work(signal ? AbortSignal.any([signal, late.signal]) : late.signal);
  } finally {
    clearTimeout(timer);
  }
}

/** Throws `TollgateError` for an answer that is not 2xx. */
async function request(
  { baseUrl, apiKey, fetch }: Connection,
  { method, path, body, headers, signal }: Call,
): Promise<Response> {
  const response = await reach(() =>
    fetch(baseUrl + path, {
      method,
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(body && { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body ? JSON.stringify(body) : null,
      signal: signal ?? null,
      // A redirect would take the key to another host.
      redirect: 'error',
    }),
  );
  if (!response.ok) throw readRefusal(response, await reach(() => response.text()));
  return response;
}

/** An answer that breaks off, or that cannot be read, is a lost connection. */
async function reach<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    throw new TollgateConnectionError('The gateway could not be reached, or its answer broke off.', { cause });
  }
}
