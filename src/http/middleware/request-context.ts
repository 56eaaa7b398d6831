import type { Logger } from 'pino';
import { newId } from '../../platform/ids.ts';
import type { AppContext, AppMiddleware } from '../context.ts';

/**
 * Gives the request its id and the answer the headers that every answer has, and writes the one log line of the request
 * when the answer has left or the client has. The line shows the route's template: paths and queries may carry secrets.
 */
export function requestContext({ logger }: { logger: Logger }): AppMiddleware {
  return async (ctx, next) => {
    const startedAt = performance.now();
    ctx.state.requestId = newId('req');
    const theirs = ctx.get('x-request-id');
    if (/^[\x21-\x7e]{1,128}$/.test(theirs)) ctx.state.clientRequestId = theirs;
    ctx.set({
      'x-request-id': ctx.state.requestId,
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    });
    ctx.res.once('close', () => logRequest(logger, ctx, performance.now() - startedAt));
    await next();
  };
}

/** What nginx calls it when the client hangs up before its answer began; never sent. */
const CLIENT_CLOSED_REQUEST = 499;

function logRequest(logger: Logger, ctx: AppContext, ms: number): void {
  const { requestId, clientRequestId, route, key, clientGone } = ctx.state;
  const line = {
    request_id: requestId,
    client_request_id: clientRequestId,
    method: ctx.method,
    path: probePaths.has(ctx.path) ? ctx.path : (route?.path ?? 'unmatched'),
    status: clientGone || !ctx.res.headersSent ? CLIENT_CLOSED_REQUEST : ctx.res.statusCode,
    ms: Math.round(ms),
    key_id: key?.keyId,
    project_id: key?.projectId,
    // False when the client hung up in the middle of its answer.
    complete: ctx.res.writableFinished,
  };
  // Probes come every few seconds from every side and would drown the rest.
  if (probePaths.has(line.path)) logger.debug(line, 'request');
  else logger.info(line, 'request');
}

const probePaths = new Set(['/livez', '/readyz']);
