import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { Logger } from 'pino';
import { CreateFailed, GatewayError, type Accepted } from '../../domain/errors.ts';
import type { AppContext, AppMiddleware } from '../context.ts';
import { isDatabaseTrouble, isDatabaseUnwritable } from '../server/database-trouble.ts';
import { describeError } from '../../platform/observe/describe-error.ts';
import { statusOf } from '../response/error-status.ts';
import { dialectOf, errorBodyOf } from '../dialects/dialect.ts';
import { ClientGone, drainRequest } from '../request/read-body.ts';
import { alarmOf } from '../../domain/operators/alarm.ts';

/**
 * Turns every thrown error into an answer in the route's dialect. Only a `GatewayError` shows its own message. A failure of the
 * database is `service_unavailable`. Any other error is `internal_error` with a constant message, and its stack is logged.
 */
export function answerErrors({ logger }: { logger: Logger }): AppMiddleware {
  const mayDiscard = createDiscards();
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
      const refusal = refusalIn(ctx, error);
      ctx.state.errorCode = refusal.code;
      logCause(logger, ctx, refusal);
      answer(ctx, refusal, mayDiscard);
    }
  };
}

/** The refusal of a request. Of one that creates a task, which some chat routes do too, it says whether that was accepted. */
export function refusalIn(ctx: AppContext, error: unknown): GatewayError {
  const { route, acceptedTaskId: taskId } = ctx.state;
  if (!route?.isCreate && taskId === undefined) return toRefusal(error);
  return toRefusal(createFailed(error, { idempotencyKey: ctx.get('idempotency-key') || null, taskId }));
}

/** The refusal that a client is told of an error. */
export function toRefusal(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  if (error instanceof CreateFailed) return aboutCreate(toRefusal(error.cause), error);
  if (isDatabaseTrouble(error)) return new GatewayError('service_unavailable', { retryAfterSeconds: 1, cause: error });
  return new GatewayError('internal_error', { cause: error });
}

/**
 * The error of a create. One on our side says whether the request was accepted: `yes` once its task is known, and before that `no`, or
 * `unknown` with an Idempotency-Key, under which an earlier request may have been accepted.
 */
export function createFailed(
  error: unknown,
  about: { idempotencyKey: string | null; taskId?: string | undefined },
): unknown {
  const { idempotencyKey, taskId } = about;
  if (error instanceof CreateFailed) return error;
  const { code, accepted, taskId: namedTask } = toRefusal(error);
  if (statusOf[code] < 500 || accepted !== undefined || namedTask !== undefined) return error;
  if (taskId !== undefined) return new CreateFailed('yes', { cause: error, taskId });
  return new CreateFailed(idempotencyKey === null ? 'no' : 'unknown', { cause: error });
}

/** The refusal with what became of the create. A task that only its id finds must be read first, because a retry buys a second one. */
function aboutCreate(refusal: GatewayError, { accepted, taskId }: CreateFailed): GatewayError {
  const { code, cause, retryAfterSeconds } = refusal;
  const message = `${refusal.message} ${whetherAccepted[accepted](taskId)}`;
  const shouldRetry = taskId === undefined ? refusal.shouldRetry : false;
  return new GatewayError(code, { message, cause, retryAfterSeconds, shouldRetry, accepted, taskId });
}

const whetherAccepted: Record<Accepted, (taskId: string | undefined) => string> = {
  yes: (taskId = '') => `The task ${taskId} was accepted: poll it.`,
  no: () => 'The request was not accepted and has no effect: send it again.',
  unknown: (taskId) =>
    taskId === undefined
      ? 'This request, or an earlier one with the same Idempotency-Key, may have been accepted: send it again with the same key to get its task.'
      : `The task ${taskId} may have been accepted. It is canceled with a refund as soon as possible: read it before you send the request again.`,
};

/** Logs why a request failed, if the client is not told. */
export function logCause(logger: Logger, ctx: AppContext, refusal: GatewayError): void {
  if (refusal.cause === undefined && refusal.code !== 'internal_error') return;
  const line = {
    request_id: ctx.state.requestId,
    path: ctx.state.route?.path,
    code: refusal.code,
    error: describeError(refusal.cause ?? refusal),
    ...(isDatabaseUnwritable(refusal.cause) && alarmOf('database_unwritable')),
  };
  if (refusal.code === 'internal_error') logger.error(line, 'request failed');
  else if (statusOf[refusal.code] >= 500) logger.warn(line, 'request refused');
  else logger.debug(line, 'request refused');
}

function answer(ctx: AppContext, refusal: GatewayError, mayDiscard: Discard): void {
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
    ctx.body = Readable.from(lingering(ctx.req, body, mayDiscard), { objectMode: false });
    ctx.length = body.length;
  }
}

const bodyHeaders = [
  'content-type',
  'content-length',
  'content-encoding',
  'content-disposition',
  'content-range',
  'etag',
  'accept-ranges',
  'location',
  'link',
];

const hasUnreadBody = (request: IncomingMessage): boolean =>
  !request.complete &&
  (request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0);

/**
 * Sends the whole answer and then discards what the client still sends, as long as it does not pause. If the connection were closed
 * before that, the kernel would send a reset, which destroys the answer before most clients have read it.
 */
async function* lingering(request: IncomingMessage, body: Buffer, mayDiscard: Discard): AsyncGenerator<Buffer> {
  yield body;
  let left = DISCARDED_MAX_BYTES;
  await drainRequest(request, linger, ({ length }) => {
    left -= length;
    if (left < 0 || !mayDiscard(length)) throw new Error('Too much is sent after its answer');
  }).catch(() => undefined);
}

/** A client that sends as much in each second, 2 Mbit/s, may go on. */
const linger = { timeoutMs: 1_000, stretchBytes: 256_000 };

/** Whether so many bytes more may be read and thrown away. */
type Discard = (bytes: number) => boolean;

/**
 * Twice the largest body that a client sends by mistake: of one client, and of all in a second. Discarded bytes cost no memory, but the time of the
 * event loop: a crowd of clients whose large bodies are refused gets resets instead.
 */
const DISCARDED_MAX_BYTES = 64_000_000;

function createDiscards(): Discard {
  let endsAt = 0;
  let left = 0;
  return (bytes) => {
    const now = performance.now();
    if (now >= endsAt) [endsAt, left] = [now + linger.timeoutMs, DISCARDED_MAX_BYTES];
    left -= bytes;
    return left >= 0;
  };
}
