import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { Agent, Client, errors, type Dispatcher } from 'undici';
import { EgressRefusal, type EgressReason } from './check-url.ts';
import { openConnection, type ConnectionSettings } from './connection.ts';
import { requestPath } from './request-path.ts';
import { asError, createTimeLimit, Interruption, unlessAborted, type EgressFailure } from './interruption.ts';

export interface Blocked {
  kind: 'blocked';
  reason: EgressReason;
}

export interface Failed {
  kind: 'failed';
  reason: EgressFailure;
  /** Present if the peer sent a status before the failure. */
  status?: number;
}

export interface ExchangeRequest {
  method?: 'GET' | 'POST';
  headers?: Record<string, string>;
  body?: string | Buffer;
  /** From name resolution to the last byte read. */
  timeoutMs: number;
  signal?: AbortSignal;
}

export interface ExchangeResponse {
  /** Any status. A 3xx is an answer like any other: no redirect is followed. */
  status: number;
  /** Names in lower case; repeated headers joined by `, `. */
  headers: Record<string, string>;
  body: Readable;
  /** The class of an error that occurred while the body was read. */
  failureOf: (error: unknown) => EgressFailure;
}

/** Wraps an error of a sink, so that it is not classified as a failure of the peer. */
export class SinkError extends Error {}

/** Name resolution, connection and TLS together. */
const keptConnectTimeoutMs = 15_000;
/** Some receivers send 100 kB of headers with a good status. More than this is `too_large`. */
const headersBytesMax = 128 * 1_024;

/** Makes HTTP exchanges. Connections to trusted origins are reused. Every other exchange opens its own connection. */
export function createExchanges(settings: ConnectionSettings) {
  const kept = new Agent({
    pipelining: 1,
    maxHeaderSize: headersBytesMax,
    connect: ({ protocol, host }, callback) => {
      const url = new URL(`${protocol}//${host ?? ''}`);
      openConnection(settings, url, { trusted: true, signal: AbortSignal.timeout(keptConnectTimeoutMs) }).then(
        (socket) => callback(null, socket),
        (error: unknown) => callback(asError(error), null),
      );
    },
  });

  /**
   * Sends one request (`text` is the trusted address as it was written), passes the response to `use`, and closes a connection that is not reused. An `EgressRefusal` by `urlOf`
   * or for the host's addresses becomes `blocked`, and a failure of the peer becomes `failed`.
   */
  async function exchange<T>(
    urlOf: () => URL,
    request: ExchangeRequest & { trusted: boolean; text?: string },
    use: (response: ExchangeResponse) => Promise<T>,
  ): Promise<T | Blocked | Failed> {
    const { timeoutMs } = request;
    const { signal, release } = createTimeLimit(timeoutMs, request.signal);
    let status: number | undefined;
    let socket: Socket | undefined;
    let client: Client | undefined;
    let body: Readable | undefined;
    try {
      const url = urlOf();
      if (!request.trusted) {
        socket = await openConnection(settings, url, { trusted: false, signal });
        client = clientOn(url, socket, timeoutMs);
      }
      const response = await unlessAborted(
        (client ?? kept).request({
          origin: url.origin,
          method: request.method ?? 'GET',
          path: requestPath(url, request.text ?? url.href),
          headers: { 'user-agent': 'Tollgate', ...request.headers, 'accept-encoding': 'identity' },
          body: request.body ?? null,
          headersTimeout: timeoutMs,
          bodyTimeout: timeoutMs,
          signal,
        }),
        signal,
      );
      ({ statusCode: status, body } = response);
      const headers = flatHeaders(response.headers);
      return await use({ status, headers, body, failureOf: (error) => failureOf(error, signal) });
    } catch (error) {
      if (error instanceof EgressRefusal) return { kind: 'blocked', reason: error.reason };
      if (error instanceof SinkError) throw error.cause;
      if (error instanceof errors.InvalidArgumentError) throw error;
      return { kind: 'failed', reason: failureOf(error, signal), ...(status === undefined ? {} : { status }) };
    } finally {
      release();
      // A body that was not read to its end closes its connection, even to a trusted origin.
      body?.on('error', () => undefined).destroy();
      client?.destroy().catch(() => undefined);
      socket?.destroy();
    }
  }

  return { exchange, close: () => kept.destroy() };
}

/** An HTTP/1.1 client for one exchange on a connection that is already open. It never opens another. */
function clientOn(url: URL, socket: Socket, timeoutMs: number): Client {
  let isTaken = false;
  return new Client(url.origin, {
    // Zero: the connection is closed after one answer, so that hosts never share one.
    pipelining: 0,
    maxHeaderSize: headersBytesMax,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    connect: (_options, callback) => {
      const usable = !isTaken && !socket.destroyed;
      isTaken = true;
      // undici ignores a callback that comes during the call.
      queueMicrotask(() => (usable ? callback(null, socket) : callback(new Interruption('reset'), null)));
    },
  });
}

function failureOf(error: unknown, signal: AbortSignal): EgressFailure {
  if (signal.aborted) return signal.reason instanceof Interruption ? signal.reason.failure : 'aborted';
  if (error instanceof Interruption) return error.failure;
  if (error instanceof errors.HeadersOverflowError) return 'too_large';
  if (error instanceof errors.HeadersTimeoutError || error instanceof errors.BodyTimeoutError) return 'timeout';
  return 'reset';
}

const flatHeaders = (headers: Dispatcher.ResponseData['headers']): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
    ),
  );
