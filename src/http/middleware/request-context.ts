import type { IncomingMessage } from 'node:http';
import { newId } from '../../platform/crypto/ids.ts';
import type { AppContext, AppMiddleware } from '../context.ts';
import type { HttpDeps } from '../http-deps.ts';
import type { DetailRow } from '../../services/requests/detail-recorder.ts';

type ContextTools = Pick<HttpDeps, 'logger' | 'metrics' | 'recordDetail'> & {
  clientAddress: (request: IncomingMessage) => string;
};

/**
 * Gives the request its id and the address of its client, and the answer its common headers. When the answer is sent or the client is
 * gone, measures the request, writes its log line, and its detail row if rows are kept. The line shows the route's template, because
 * paths and queries may have secrets.
 */
export function requestContext(tools: ContextTools): AppMiddleware {
  return (ctx, next) => {
    const startedAt = performance.now();
    ctx.request.ip = tools.clientAddress(ctx.req);
    ctx.state.requestId = newId('req');
    const theirs = ctx.get('x-request-id');
    if (/^[\x21-\x7e]{1,128}$/.test(theirs)) ctx.state.clientRequestId = theirs;
    ctx.res.setHeader('x-request-id', ctx.state.requestId);
    ctx.res.setHeader('x-content-type-options', 'nosniff');
    ctx.res.setHeader('cache-control', 'no-store');
    ctx.res.once('close', () => noteRequest(tools, ctx, performance.now() - startedAt));
    return next();
  };
}

/** nginx's status for a client that disconnects before the answer begins. Logged, never sent. */
const CLIENT_CLOSED_REQUEST = 499;

/** The status that a client was answered with, once the answer is sent or the client is gone. */
export const answeredStatus = ({ state, res }: AppContext): number =>
  state.clientGone || !res.headersSent ? CLIENT_CLOSED_REQUEST : res.statusCode;

function noteRequest({ logger, metrics, recordDetail }: ContextTools, ctx: AppContext, ms: number): void {
  const { requestId, clientRequestId, traceId, route, key, admin } = ctx.state;
  const line = {
    request_id: requestId,
    client_request_id: clientRequestId,
    trace_id: traceId,
    method: ctx.method,
    path: probePaths.has(ctx.path) ? ctx.path : (route?.path ?? 'unmatched'),
    status: answeredStatus(ctx),
    ms: Math.round(ms),
    key_id: key?.keyId,
    project_id: key?.projectId,
    principal_id: admin?.principalId,
    // False if the client disconnected during the answer.
    complete: ctx.res.writableFinished,
  };
  // Health probes arrive every few seconds and would drown the other lines.
  if (probePaths.has(line.path)) {
    logger.debug(line, 'request');
    return;
  }
  logger.info(line, 'request');
  const method = standardMethods.has(ctx.method) ? ctx.method : 'other';
  metrics?.requestAnswered({ route: line.path, method, status: line.status, ms });
  recordDetail?.(detailOf(ctx, { route: line.path, method, status: line.status, ms }));
}

export const probePaths = new Set(['/livez', '/readyz', '/metrics']);

/**
 * The detail row of an answered request: ids, numbers and the route's template. It has no client input, so that no part of a
 * prompt, a key or a URL can end up in it.
 */
function detailOf(ctx: AppContext, answered: { route: string; method: string; status: number; ms: number }): DetailRow {
  const { requestId, key, modelId, creditsQuoted } = ctx.state;
  // A replay shows the numbers of the original request but costs nothing itself.
  const isReplay = ctx.res.hasHeader('Idempotent-Replayed');
  return {
    atMs: Date.now(),
    requestId,
    ...answered,
    ms: Math.min(Math.round(answered.ms), 2_147_483_647),
    keyId: key?.keyId ?? null,
    modelId: modelId ?? null,
    credits: isReplay ? null : (headerNumber(ctx, 'x-tollgate-credits') ?? creditsQuoted ?? null),
    attempts: isReplay ? null : (headerNumber(ctx, 'x-tollgate-attempts') ?? ctx.state.attempts ?? null),
    errorCode: ctx.state.errorCode ?? null,
  };
}

const standardMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** The number in a header of the answer. */
function headerNumber(ctx: AppContext, header: string): number | null {
  const text = ctx.response.get(header);
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}
