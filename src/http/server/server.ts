import { once } from 'node:events';
import { createServer, STATUS_CODES, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type Koa from 'koa';
import type { Config } from '../../config/load-config.ts';
import { GatewayError, type ErrorCode } from '../../domain/errors.ts';
import { newId } from '../../platform/crypto/ids.ts';
import type { AppState } from '../context.ts';
import { openaiError } from '../dialects/openai/openai.ts';
import { UPLOAD_TIMEOUT_SECONDS } from '../request/read-upload.ts';

export interface HttpServer {
  /** The URL it listens on, without a trailing slash. */
  url: string;
  /**
   * Stops the server: it reports not ready, refuses new connections after the configured delay, lets running requests finish for up to
   * `drainSeconds` (default 130, the length of a chat) and then closes the rest. Five seconds before that it calls `interrupt` once, so
   * that answers which may take longer end in order. A second call returns the same promise.
   */
  close(options?: { drainSeconds?: number; interrupt?: () => void }): Promise<void>;
}

interface ServerOptions {
  host: string;
  /** 0 means a free port. */
  port: number;
  config: Pick<Config['http'], 'headersTimeoutSeconds' | 'requestTimeoutSeconds' | 'shutdownReadyDelaySeconds'>;
}

/** Longer than the idle timeout of common load balancers (60 s), so that the server never closes a connection that is being reused. */
const KEEP_ALIVE_MS = 75_000;
const HEADERS_MAX_BYTES = 16_384;
const CONNECTIONS_MAX = 10_000;
/** A burst of connections waits here. With a shorter queue the kernel would drop those of other clients, which try again after a second. */
const BACKLOG_MAX = 4_096;
/** Longer than any answer may take to begin (120 s). It disconnects clients that have stopped reading. */
const SOCKET_IDLE_MS = 180_000;
const DRAIN_SECONDS = 130;
/** How long the bytes of a client are discarded whose connection is being closed. */
const HANG_UP_MS = 1_000;
/** The largest body may take the time limit of a small one so many times. */
const BODY_STRETCHES_MAX = 8;
/** Enough to settle the answers that are interrupted. */
const INTERRUPTED_MS = 5_000;
/** Requests that wait behind another one of their connection. */
const QUEUED_PER_CONNECTION_MAX = 100;
/** The same in the whole process. Each takes about 3 kB, and several times as much until the heap is collected. */
const QUEUED_MAX = 4_000;
const LISTENERS_MAX = 30;

/**
 * Starts the listener for an app. Also answers requests that never reach the app: those that are not HTTP, too large or too slow.
 */
export async function startHttpServer(app: Koa<AppState>, { host, port, config }: ServerOptions): Promise<HttpServer> {
  const headersTimeout = Math.ceil(config.headersTimeoutSeconds * 1_000);
  const bodySeconds = Math.max(config.requestTimeoutSeconds * BODY_STRETCHES_MAX, UPLOAD_TIMEOUT_SECONDS);
  const bodyTimeout = Math.ceil(bodySeconds * 1_000);
  const server = createServer({
    headersTimeout,
    // For bodies that no handler reads. Longer than the app's own timeout, which answers in the route's dialect.
    requestTimeout: Math.max(headersTimeout, bodyTimeout) + 5_000,
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: HEADERS_MAX_BYTES,
    connectionsCheckingInterval: Math.max(50, Math.min(1_000, headersTimeout / 2)),
    // The app itself answers a request without Host.
    requireHostHeader: false,
  });
  server.maxConnections = CONNECTIONS_MAX;
  server.setTimeout(SOCKET_IDLE_MS);

  const handle = app.callback();
  const work = new Set<Promise<void>>();
  const { serve, answerOf } = createInOrder((request, response) => {
    const handling = handle(request, response).finally(() => work.delete(handling));
    work.add(handling);
  });
  server.on('request', serve);
  // Without these two listeners Node invites the body before the key is checked, and answers other expectations itself.
  server.on('checkContinue', serve);
  server.on('checkExpectation', serve);
  server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
    refuseConnection(error.code ?? '', socket, answerOf(socket)),
  );
  // Node would close the connection without an answer. It has removed its own error listener, so a reset would end the process.
  server.on('connect', (_request, socket) => {
    socket.on('error', () => socket.destroy());
    refuseConnection('CONNECT', socket, undefined);
  });

  server.listen({ port, host, backlog: BACKLOG_MAX });
  await once(server, 'listening');
  const bound = server.address() as AddressInfo;
  const url = `http://${bound.family === 'IPv6' ? `[${bound.address}]` : bound.address}:${bound.port}`;
  let stop: Promise<void> | undefined;
  return {
    url,
    close: ({ drainSeconds = DRAIN_SECONDS, interrupt } = {}) => {
      app.emit('stopping');
      const times = { delayMs: config.shutdownReadyDelaySeconds * 1_000, drainMs: drainSeconds * 1_000 };
      return (stop ??= drain(server, work, times, interrupt));
    },
  };
}

interface InOrder {
  serve: (request: IncomingMessage, response: ServerResponse) => void;
  /** The answer that a connection is sending or waits for. */
  answerOf: (socket: Duplex) => ServerResponse | undefined;
}

/**
 * Handles the requests of one connection one after another, as RFC 9112 §9.3.2 allows. Node hands all pipelined requests over as they
 * arrive. Their answers would be made and kept until those before them are read, without a socket whose reader can be watched, and they
 * would never close if the connection does. A connection that queues too many requests is closed.
 */
function createInOrder(begin: (request: IncomingMessage, response: ServerResponse) => void): InOrder {
  const lines = new WeakMap<Duplex, ServerResponse[]>();
  let queued = 0;

  const next = (socket: Duplex, line: ServerResponse[]): void => {
    line.shift();
    // It has ended, or ends after the answer that said so.
    if (!socket.writable) queued -= line.splice(0).length;
    const [first] = line;
    if (!first) return;
    queued -= 1;
    start(socket, line, first);
  };
  const start = (socket: Duplex, line: ServerResponse[], response: ServerResponse): void => {
    // Whatever holds something for a request listens for its end.
    response.setMaxListeners(LISTENERS_MAX).once('close', () => next(socket, line));
    begin(response.req, response);
  };

  return {
    serve({ socket }, response) {
      const line = lines.get(socket) ?? [];
      lines.set(socket, line);
      line.push(response);
      if (line.length === 1) return start(socket, line, response);
      queued += 1;
      if (line.length > QUEUED_PER_CONNECTION_MAX || queued > QUEUED_MAX) socket.destroy();
    },
    answerOf: (socket) => lines.get(socket)?.[0],
  };
}

async function drain(
  server: Server,
  work: ReadonlySet<Promise<void>>,
  { delayMs, drainMs }: { delayMs: number; drainMs: number },
  interrupt = (): void => undefined,
): Promise<void> {
  // Load balancers need a moment to notice that this process is not ready. Until then new connections are accepted.
  if (delayMs > 0) await sleep(delayMs);
  let open = true;
  const closed = once(server.close(), 'close').then(() => (open = false));
  // A handler may outlive its connection: it settles the chat of a client that has disconnected.
  const isBusy = (): boolean => open || work.size > 0;
  const waitWhileBusy = async (ms: number): Promise<void> => {
    for (const until = performance.now() + ms; isBusy() && performance.now() < until; await sleep(Math.min(20, ms))) {
      server.closeIdleConnections();
    }
  };
  await waitWhileBusy(drainMs - INTERRUPTED_MS);
  // A pause of this process may have used up the whole time. Interrupted answers get time to be settled all the same.
  if (isBusy()) interrupt();
  await waitWhileBusy(Math.min(drainMs, INTERRUPTED_MS));
  server.closeAllConnections();
  await closed;
}

/**
 * Answers a connection whose bytes are not valid HTTP with the usual error body, and closes it. The error is never written into another
 * answer, nor in its stead: if the connection still waits for the answer to a whole request, it is closed after that one.
 */
function refuseConnection(trouble: string, socket: Duplex, answer: ServerResponse | undefined): void {
  if (trouble === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  if (answer?.req.complete) {
    // If its head has not left, the client learns that it must not use the connection again.
    answer.shouldKeepAlive = false;
    // Each further piece of such bytes is another error.
    if (!refused.has(answer)) answer.prependOnceListener('close', () => hangUp(socket));
    refused.add(answer);
    return;
  }
  if (answer?.headersSent) {
    socket.destroy();
    return;
  }
  const { status, code, message } = refusalOf(trouble);
  const requestId = answer?.getHeader('x-request-id');
  const body = JSON.stringify(openaiError(new GatewayError(code, { message })));
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${typeof requestId === 'string' ? requestId : newId('req')}`,
    'x-content-type-options: nosniff',
    'Cache-Control: no-store',
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

/** The answers after which their connections are closed. */
const refused = new WeakSet<ServerResponse>();

/** If bytes of the client were not read, the kernel would reset the connection, and the client could lose the end of its answer. */
function hangUp(socket: Duplex): void {
  socket.end();
  setTimeout(() => socket.destroy(), HANG_UP_MS).unref();
}

function refusalOf(trouble: string): { status: number; code: ErrorCode; message: string } {
  switch (trouble) {
    case 'CONNECT':
      return { status: 400, code: 'invalid_value', message: 'CONNECT is not supported.' };
    case 'HPE_HEADER_OVERFLOW':
      return { status: 431, code: 'payload_too_large', message: 'The request headers are too large.' };
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return { status: 413, code: 'payload_too_large', message: 'The chunk extensions are too large.' };
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { status: 408, code: 'request_timeout', message: 'The request took too long to arrive.' };
    default:
      return { status: 400, code: 'invalid_value', message: 'The request is not valid HTTP.' };
  }
}
