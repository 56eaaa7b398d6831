import { Agent, type Dispatcher } from 'undici';
import type { JsonValue } from '../domain/json.ts';
import { BoundedMap } from '../platform/bounded-map.ts';
import type { Upstream } from './channel.ts';
import { multipart, type FormPart } from './multipart.ts';

/**
 * The only HTTP client for a channel's configured origin. One call is one request: no retry, no redirect, no proxy from the
 * environment, no compression. A failure of the network or the provider never throws. The call returns a `CallOutcome`, and
 * classify-outcome.ts decides what it means.
 */
export interface UpstreamCaller {
  call(upstream: Upstream, call: UpstreamCall): Promise<CallOutcome>;
  /** Closes every connection. Running calls end as `interrupted`. */
  close(): Promise<void>;
}

export interface UpstreamCall {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Appended to the channel's base URL. It starts with a slash, and its segments are already encoded. */
  path: string;
  headers?: Record<string, string>;
  /** Sent as JSON. */
  body?: RequestBody;
  /** Sent as multipart/form-data instead of `body`. */
  form?: FormPart[];
  /** Aborts the call at any stage. A call that only its time may end needs none. */
  signal?: AbortSignal;
  /** The whole call, in milliseconds. The default is `totalMs`. */
  timeoutMs?: number;
  /** Until the answer's headers, in milliseconds. The default is the caller's `headersMs`. */
  headersMs?: number;
  /** A longer answer is `too_large`. The default is `mediaJsonBytesMax`. */
  bodyBytesMax?: number;
}

/** JSON to send. Members that are undefined are left out. */
export interface RequestBody {
  [name: string]: JsonValue | undefined | RequestBody | RequestBody[];
}

/** The credential as a bearer token. */
export const bearerAuthorization = ({ credential }: Upstream) => ({ authorization: `Bearer ${credential}` });

/** What happened to a call, as far as the gateway knows. */
export type CallOutcome =
  /** The call failed or ended before there was a connection (refused, DNS, TLS), so the provider received nothing. */
  | { kind: 'not_sent'; detail: string }
  /** The request was sent and no status came back, so the provider may have acted on it. */
  | { kind: 'interrupted'; detail: string }
  | { kind: 'answered'; status: number; headers: AnswerHeaders; body: AnswerBody };

/** The headers that decide something. */
export type AnswerHeaders = { [Name in 'content-encoding' | 'retry-after']?: string };

export type AnswerBody =
  { json: unknown } | { unreadable: 'empty' | 'not_json' | 'cut_short' | 'timed_out' | 'too_large' | 'encoded' };

/** All in milliseconds. undici's own defaults (300 s) would hold a worker far beyond an attempt's deadline. */
export interface UpstreamTimeouts {
  connectMs: number;
  /** From the request's last byte to the answer's headers. */
  headersMs: number;
  /** Between two chunks of the answer's body. */
  idleBodyMs: number;
  /** The whole call. It ends an answer that is slow but never idle. */
  totalMs: number;
}

export const upstreamTimeouts: UpstreamTimeouts = {
  connectMs: 5_000,
  headersMs: 30_000,
  idleBodyMs: 15_000,
  totalMs: 90_000,
};

/** A media reply holds a few URLs, so one near this size is a fault or an attack. */
const mediaJsonBytesMax = 4_000_000;

/** Lets every running task poll at the same time, but one channel cannot use up the process's file descriptors. */
const connectionsPerOriginMax = 512;

/** Keeps one connection pool for each upstream origin. A process creates it once. */
export function createUpstreamCaller(options: Partial<UpstreamTimeouts> = {}): UpstreamCaller {
  const timeouts = { ...upstreamTimeouts, ...options };
  const agent = new Agent({
    connect: { timeout: timeouts.connectMs },
    headersTimeout: timeouts.headersMs,
    bodyTimeout: timeouts.idleBodyMs,
    connections: connectionsPerOriginMax,
    pipelining: 1,
    // Below the idle limits of common servers, because a request on a socket that the server closes is `interrupted`.
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
  const address = addressOf(`${upstream.baseUrl}${call.path}`);
  if (!address) return Promise.resolve({ kind: 'not_sent', detail: 'the base URL is not a URL' });
  const bytesMax = call.bodyBytesMax ?? mediaJsonBytesMax;
  return new Promise((resolve) => {
    let controller: Dispatcher.DispatchController | undefined;
    let answer: { status: number; headers: AnswerHeaders } | undefined;
    let ended = false;
    const chunks: Buffer[] = [];
    let bytes = 0;

    const end = (outcome: CallOutcome): void => {
      if (ended) return;
      ended = true;
      clearTimeout(timer);
      call.signal?.removeEventListener('abort', onAbort);
      resolve(outcome);
    };
    /** Ends the call before its answer is complete. */
    const stop = (why: string): void => {
      if (answer)
        end({ kind: 'answered', ...answer, body: { unreadable: isTimeout(why) ? 'timed_out' : 'cut_short' } });
      else if (controller) end({ kind: 'interrupted', detail: why });
      else end({ kind: 'not_sent', detail: why });
      controller?.abort(new Error(why));
    };
    const onAbort = () => stop('ended by the caller');
    const timer = setTimeout(() => stop('timeout'), call.timeoutMs ?? timeouts.totalMs);
    if (call.signal?.aborted) return onAbort();
    call.signal?.addEventListener('abort', onAbort, { once: true });

    agent.dispatch(requestOf(address, upstream, call, call.headersMs ?? timeouts.headersMs), {
      // Called before the request is written. Until then nothing was sent.
      onRequestStart(started) {
        if (ended) started.abort(new Error('ended before it was sent'));
        else controller = started;
      },
      onResponseStart(_controller, status, headers) {
        if (status >= 200) answer = { status, headers: readHeaders(headers) };
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
        const [first] = chunks;
        const whole = chunks.length === 1 && first ? first : Buffer.concat(chunks);
        const body: AnswerBody = encoding === 'identity' ? parse(whole) : { unreadable: 'encoded' };
        end({ kind: 'answered', ...answer, body });
      },
      onResponseError(_controller, error) {
        stop(nameOf(error));
      },
    });
  });
}

interface Address {
  origin: string;
  path: string;
}

/** Chats go to few addresses, and parsing one costs as much as half of a chat's validation. Media jobs have addresses of their own. */
const addresses = new BoundedMap<Address>(1_000);

function addressOf(text: string): Address | null {
  const known = addresses.get(text);
  if (known) return known;
  const url = URL.parse(text);
  if (!url) return null;
  const address = { origin: url.origin, path: `${url.pathname}${url.search}` };
  addresses.set(text, address);
  return address;
}

function requestOf(
  address: Address,
  upstream: Upstream,
  call: UpstreamCall,
  headersTimeout: number,
): Dispatcher.DispatchOptions {
  const content = call.form
    ? multipart(call.form)
    : call.body && { type: 'application/json', bytes: JSON.stringify(call.body) };
  return {
    ...address,
    method: call.method,
    headersTimeout,
    headers: {
      accept: 'application/json',
      ...(upstream.requestId !== undefined && { 'x-request-id': upstream.requestId }),
      // A compressed answer could decompress to any size, so it is neither requested nor read.
      'accept-encoding': 'identity',
      ...(content && { 'content-type': content.type }),
      ...call.headers,
    },
    body: content ? content.bytes : null,
  };
}

/** The reasons with which `callOnce` or undici ends a call that takes too long. The caller's signal is always a timeout. */
const timeouts: ReadonlySet<string> = new Set([
  'timeout',
  'ended by the caller',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
]);

/** Whether the detail of an outcome says that our time for the call ran out. */
export const isTimeout = (detail: string): boolean => timeouts.has(detail);

const parse = (bytes: Buffer): AnswerBody => {
  if (bytes.length === 0) return { unreadable: 'empty' };
  try {
    const json: unknown = JSON.parse(bytes.toString('utf8'));
    return { json };
  } catch {
    return { unreadable: 'not_json' };
  }
};

/** undici has the names in lower case. */
function readHeaders(headers: Record<string, string | string[] | undefined>): AnswerHeaders {
  const read: AnswerHeaders = {};
  for (const name of ['content-encoding', 'retry-after'] as const) {
    const value = headers[name];
    if (value !== undefined) read[name] = Array.isArray(value) ? (value[0] ?? '') : value;
  }
  return read;
}

/** An error's code or name, because the message could contain an address or a part of a reply. */
const nameOf = (error: Error & { code?: unknown }): string =>
  typeof error.code === 'string' ? error.code : error.name;
