import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { Logger } from 'pino';
import { GatewayError, CreateFailed } from '../../domain/errors.ts';
import type { AppContext, AppMiddleware } from '../context.ts';
import { isDatabaseTrouble, isDatabaseUnwritable } from '../database-trouble.ts';
import { describeError } from '../../platform/observe/describe-error.ts';
import { statusOf } from '../error-status.ts';
import { dialectOf, errorBodyOf } from '../dialects/dialect.ts';
import { ClientGone, drainRequest } from '../read-body.ts';

/**
 * Turns every thrown error into an answer in the route's dialect. Only a `GatewayError` shows its own message. A failure of the
 * database is `service_unavailable`. Any other error is `internal_error` with a constant message, and its stack is logged.
 */
export function answerErrors({ logger }: { logger: Logger }): AppMiddleware {
  return async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      if (error instanceof ClientGone) {
        ctx.state.clientGone = true;
        ctx.respond = false;
        ctx.res.destroy();
        return;
      }
      const refusal = toRefusal(error);
      logCause(logger, ctx, refusal);
      answer(ctx, refusal);
    }
  };
}

/** What the client of a failed create is told. */
const createFailed = {
  unknown:
    'This request, or an earlier one with the same Idempotency-Key, may have been accepted: send it again with the same key to get its task.',
  no: 'The request was not accepted and has no effect: send it again.',
};

/** The refusal that a client is told of an error. */
export function toRefusal(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  if (error instanceof CreateFailed) {
    const { code, cause, retryAfterSeconds } = toRefusal(error.cause);
    return new GatewayError(code, {
      message: createFailed[error.accepted],
      cause,
      retryAfterSeconds,
      accepted: error.accepted,
    });
  }
  if (isDatabaseTrouble(error)) return new GatewayError('service_unavailable', { retryAfterSeconds: 1, cause: error });
  return new GatewayError('internal_error', { cause: error });
}

/** Logs why a request failed, if the client is not told. */
export function logCause(logger: Logger, ctx: AppContext, refusal: GatewayError): void {
  if (refusal.cause === undefined && refusal.code !== 'internal_error') return;
  const line = {
    request_id: ctx.state.requestId,
    path: ctx.state.route?.path,
    code: refusal.code,
    error: describeError(refusal.cause ?? refusal),
    ...(isDatabaseUnwritable(refusal.cause) && { alarm: true }),
  };
  if (refusal.code === 'internal_error') logger.error(line, 'request failed');
  else if (statusOf[refusal.code] >= 500) logger.warn(line, 'request refused');
  else logger.debug(line, 'request refused');
}

function answer(ctx: AppContext, refusal: GatewayError): void {
  const status = statusOf[refusal.code];
  // The handler may have set headers about its body before it failed. They do not apply to the error body.
  for (const name of bodyHeaders) ctx.remove(name);
  ctx.set('cache-control', 'no-store');
  if (status === 401) ctx.set('www-authenticate', 'Bearer');
  if (refusal.accepted !== undefined) ctx.set('x-tollgate-accepted', refusal.accepted);
  if (refusal.shouldRetry === false) ctx.set('x-should-retry', 'false');
  const wait = refusal.retryAfterSeconds ?? (status === 503 && refusal.shouldRetry !== false ? 1 : undefined);
  if (wait !== undefined) ctx.set('retry-after', String(Math.max(1, Math.ceil(wait))));
  const body = Buffer.from(JSON.stringify(errorBodyOf[dialectOf(ctx)](refusal, status, ctx.state.requestId)));
  ctx.status = status;
  ctx.type = 'json';
  ctx.body = body;
  if (hasUnreadBody(ctx.req)) {
    ctx.set('connection', 'close');
    ctx.body = Readable.from(lingering(ctx.req, body), { objectMode: false });
    ctx.length = body.length;
  }
}

const bodyHeaders = [
  ...['content-type', 'content-length', 'content-encoding', 'content-disposition', 'content-range'],
  ...['etag', 'accept-ranges', 'location', 'link'],
];

const hasUnreadBody = (request: IncomingMessage): boolean =>
  !request.complete &&
  (request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0);

/**
 * Sends the whole answer and then discards what the client still sends, for a short time. If the connection were closed
 * immediately, the kernel would send a reset, which destroys the answer before most clients have read it.
 */
async function* lingering(request: IncomingMessage, body: Buffer): AsyncGenerator<Buffer> {
  yield body;
  let left = LINGER_MAX_BYTES;
  await drainRequest(request, LINGER_MS, ({ length }) => {
    left -= length;
    if (left < 0) throw new Error('The client sends too much after its answer');
  }).catch(() => undefined);
}

const LINGER_MS = 1_000;
/** Well above the largest body that a client sends by mistake. Discarded bytes cost no memory. */
const LINGER_MAX_BYTES = 32_000_000;
