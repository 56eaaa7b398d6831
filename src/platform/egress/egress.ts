import type { Readable } from 'node:stream';
import { checkUrl, originOf, type EgressPurpose } from './check-url.ts';
import type { ConnectionSettings } from './connection.ts';
import {
  createExchanges,
  SinkError,
  type Blocked,
  type ExchangeRequest,
  type ExchangeResponse,
  type Failed,
} from './exchange.ts';
import { Interruption, type EgressFailure } from './interruption.ts';
import { addressMatcher } from './public-address.ts';

type Head = Pick<ExchangeResponse, 'status' | 'headers'>;
type Sink<T> = (body: AsyncIterable<Buffer>, head: Head) => Promise<T>;

export interface Answer extends Head {
  kind: 'answer';
  /** At most `maxBytes`, as sent, without decompression. */
  body: Buffer;
  /** Whether the peer sent more than `maxBytes`. */
  truncated: boolean;
}

export interface FetchOptions extends Omit<ExchangeRequest, 'signal'> {
  /** At most this many bytes of the answer's body are read. */
  maxBytes: number;
  /** Decides which ports are allowed. The default is `callback`. */
  purpose?: EgressPurpose;
}

/** `timeoutMs` includes the time of the sink. */
export interface DownloadOptions extends Pick<ExchangeRequest, 'timeoutMs' | 'signal'> {
  /** A longer body fails as `too_large`. */
  maxBytes: number;
  /** Base URLs or origins whose host the operator configured: the guard does not check them. */
  trustedOrigins?: readonly string[];
  /** Sent to a trusted origin only, because a URL from a reply must never receive the provider's credential. */
  trustedHeaders?: Record<string, string>;
}

export type Download<T> =
  | ({ kind: 'saved'; value: T } & Head)
  /** Any status but 2xx. Its body is not read. */
  | ({ kind: 'answer' } & Head);

export interface Egress {
  /** Checks a URL by its text, without DNS, and returns it normalised. Throws `EgressRefusal`. */
  checkUrl(text: string, options: { purpose: EgressPurpose }): string;
  /** Sends one request and returns one answer. A failure of the peer never throws. */
  fetch(url: string, options: FetchOptions): Promise<Answer | Blocked | Failed>;
  /**
   * Passes a 2xx body to `sink`, chunk by chunk, and returns the sink's value. If the peer, the size limit or the timeout ends
   * the transfer, reading the next chunk throws, so a sink that does not catch keeps nothing. Throws only the sink's own errors.
   */
  download<T>(url: string, options: DownloadOptions, sink: Sink<T>): Promise<Download<T> | Blocked | Failed>;
  /** Closes the connections to trusted origins. */
  close(): Promise<void>;
  /** Warnings to log at start. */
  warnings: readonly string[];
}

export interface EgressSettings extends ConnectionSettings {
  /** `EGRESS_ALLOW_CIDRS`: URLs with a literal address in these ranges may use any port and plain http. */
  allowCidrs: readonly string[];
  /** The only ports that a callback may use beside 443; none: every port that needs no privilege (1024 and above). */
  callbackPorts: readonly number[];
}

/** Receivers that are not on 443 run here (RFC 6335, 6: user and dynamic ports). Ports below belong to other protocols. */
const unprivilegedMin = 1_024;

/** Checks the text of a URL for a purpose by these settings, without an egress guard. Throws `EgressRefusal`. */
export function urlCheckOf({
  allowCidrs,
  callbackPorts,
}: Pick<EgressSettings, 'allowCidrs' | 'callbackPorts'>): (text: string, purpose: EgressPurpose) => URL {
  const isAllowed = addressMatcher(allowCidrs);
  const isCallbackPort = (port: number): boolean =>
    callbackPorts.length === 0 ? port >= unprivilegedMin : callbackPorts.includes(port);
  return (text, purpose) =>
    checkUrl(text, { isAllowedPort: purpose === 'callback' ? isCallbackPort : () => false, isAllowed });
}

/**
 * The egress guard. All requests to URLs from clients and from providers' replies go through it (rules "Egress guard"). It
 * checks the URL's text (check-url.ts), connects to a checked address (connection.ts) and makes one exchange (exchange.ts). It
 * follows no redirect, reads no proxy variable and accepts no invalid certificate.
 */
export function createEgress(settings: EgressSettings): Egress {
  const { exchange, close } = createExchanges(settings);
  const check = urlCheckOf(settings);

  return {
    checkUrl: (text, { purpose }) => check(text, purpose).href,

    fetch: (text, { maxBytes, purpose = 'callback', ...request }) =>
      exchange(
        () => check(text, purpose),
        { ...request, trusted: false },
        async ({ status, headers, body }) => ({
          kind: 'answer' as const,
          status,
          headers,
          ...(await readUpTo(body, maxBytes)),
        }),
      ),

    download(text, { timeoutMs, signal, maxBytes, trustedOrigins = [], trustedHeaders = {} }, sink) {
      const origin = originOf(text);
      const trusted = origin !== null && trustedOrigins.some((url) => originOf(url) === origin);
      return exchange(
        () => (trusted ? new URL(text) : check(text, 'output')),
        { timeoutMs, signal, headers: trusted ? trustedHeaders : {}, trusted, ...(trusted && { text }) },
        (response) => pourInto(sink, response, maxBytes),
      );
    },

    close,

    warnings:
      settings.allowCidrs.length === 0
        ? []
        : [
            `EGRESS_ALLOW_CIDRS lets URLs from clients reach ${settings.allowCidrs.join(', ')}. Leave it empty in production.`,
          ],
  };
}

async function readUpTo(body: Readable, maxBytes: number): Promise<{ body: Buffer; truncated: boolean }> {
  const chunks: Buffer[] = [];
  let bytesLeft = maxBytes;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk.subarray(0, bytesLeft));
    bytesLeft -= chunk.length;
    if (bytesLeft < 0) break;
  }
  return { body: Buffer.concat(chunks), truncated: bytesLeft < 0 };
}

/** Passes the body of a 2xx to the sink. A failed transfer returns `failed` even if the sink ignores the error. */
async function pourInto<T>(
  sink: Sink<T>,
  { status, headers, body, failureOf }: ExchangeResponse,
  maxBytes: number,
): Promise<Download<T> | Failed> {
  if (status < 200 || status > 299) return { kind: 'answer', status, headers };
  if (Number(headers['content-length'] ?? 0) > maxBytes) throw new Interruption('too_large');
  let failure: EgressFailure | undefined;
  const chunks = upTo(body, maxBytes, (error) => {
    failure = failureOf(error);
  });
  try {
    const value = await sink(chunks, { status, headers });
    if (failure === undefined) return { kind: 'saved', status, headers, value };
  } catch (error) {
    // After a failed transfer the error is usually our own, which the sink passed on.
    if (failure === undefined) throw new SinkError('the sink failed', { cause: error });
  }
  return { kind: 'failed', reason: failure, status };
}

async function* upTo(body: Readable, maxBytes: number, onFailure: (error: unknown) => void): AsyncGenerator<Buffer> {
  let bytesLeft = maxBytes;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytesLeft -= chunk.length;
      if (bytesLeft < 0) throw new Interruption('too_large');
      yield chunk;
    }
  } catch (error) {
    onFailure(error);
    throw error;
  }
}
