import { Readable } from 'node:stream';
import { LRUCache } from 'lru-cache';
import type { Dispatcher } from 'undici';
import type { JsonValue } from '../../domain/json.ts';
import { requestPath } from '../../platform/egress/request-path.ts';
import { isLarge, jsonBytes } from '../../platform/json-pieces.ts';
import type { Upstream } from '../channel.ts';
import { multipart, type FormPart } from '../media/multipart.ts';
import { parseExactly } from '../reading/exact-json.ts';

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
  /** Long integers in the answer become text with all their digits, because an id may be one. */
  keepsDigits?: true;
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

interface Address {
  origin: string;
  path: string;
}

/**
 * Chats go to few addresses, and one that is kept costs 0.02 instead of 1.1 µs of CPU (medians of 7 interleaved runs, 26 November 2026), about half of
 * a chat's validation. Media jobs have addresses of their own.
 */
const addresses = new LRUCache<string, Address>({ max: 1_000 });

export function addressOf(text: string): Address | null {
  const cached = addresses.get(text);
  if (cached) return cached;
  const url = URL.parse(text);
  if (!url) return null;
  const path = requestPath(url, text);
  const address = { origin: url.origin, path };
  addresses.set(text, address);
  return address;
}

interface RequestSettings {
  headersTimeout: number;
  accept?: string;
}

/** From this size on, JSON is written in pieces. */
const PIECES_FROM_CHARACTERS = 1_000_000;

/**
 * Passes the request of a call to `send`. One with a large JSON body is passed on in a later turn of the event loop: then the promise says
 * when, and rejects with what `send` throws.
 */
export function sendRequest(
  to: { address: Address; upstream: Upstream; call: UpstreamCall },
  settings: RequestSettings,
  send: (request: Dispatcher.DispatchOptions) => void,
): Promise<void> | undefined {
  const { address, upstream, call } = to;
  if (call.form || !isLarge(call.body, PIECES_FROM_CHARACTERS)) {
    send(upstreamRequestOf(address, upstream, call, settings));
    return undefined;
  }
  return jsonBytes(call.body).then((chunks) => {
    const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    const content = { type: 'application/json', bytes: Readable.from(drained(chunks), { objectMode: false }), length };
    send(upstreamRequestOf(address, upstream, call, settings, content));
  });
}

/** The chunks, each of which can be freed once it was sent. */
function* drained(chunks: Buffer[]): Generator<Buffer> {
  for (let chunk = chunks.shift(); chunk; chunk = chunks.shift()) yield chunk;
}

interface Content {
  type: string;
  bytes: string | Buffer | Readable;
  length?: number;
}

const contentOf = ({ form, body }: UpstreamCall): Content | undefined =>
  form ? multipart(form) : body && { type: 'application/json', bytes: JSON.stringify(body) };

export function upstreamRequestOf(
  address: Address,
  upstream: Upstream,
  call: UpstreamCall,
  { headersTimeout, accept = 'application/json' }: RequestSettings,
  content = contentOf(call),
): Dispatcher.DispatchOptions {
  return {
    ...address,
    method: call.method,
    headersTimeout,
    headers: {
      accept,
      ...(upstream.requestId !== undefined && { 'x-request-id': upstream.requestId }),
      // A compressed answer could decompress to any size, so it is neither requested nor read.
      'accept-encoding': 'identity',
      ...(content && { 'content-type': content.type }),
      ...(content?.length !== undefined && { 'content-length': String(content.length) }),
      ...call.headers,
    },
    body: content ? content.bytes : null,
  };
}

export const parse = (bytes: Buffer, keepsDigits = false): AnswerBody => {
  if (bytes.length === 0) return { unreadable: 'empty' };
  try {
    const text = bytes.toString('utf8');
    const json: unknown = keepsDigits ? parseExactly(text) : JSON.parse(text);
    return { json };
  } catch {
    return { unreadable: 'not_json' };
  }
};

/** undici has the names in lower case. */
export function readHeaders(headers: Record<string, string | string[] | undefined>): AnswerHeaders {
  const read: AnswerHeaders = {};
  for (const name of ['content-encoding', 'retry-after'] as const) {
    const value = headers[name];
    if (value !== undefined) read[name] = Array.isArray(value) ? (value[0] ?? '') : value;
  }
  return read;
}

/** An error's code or name, because the message could contain an address or a part of a reply. */
export const errorNameOf = (error: Error & { code?: unknown }): string =>
  typeof error.code === 'string' ? error.code : error.name;
