import { errorLabel, type Tracing } from '../../platform/observe/tracer.ts';
import type { AppContext, AppMiddleware } from '../context.ts';
import { answeredStatus, probePaths } from './request-context.ts';

/**
 * Gives each request a span, which continues the trace that its client names in `traceparent`. The span ends when the handler has ended
 * and the answer is sent, whichever comes last. It has the route's template and ids, because paths and queries may have secrets.
 */
export function traceRequests(tracing: Pick<Tracing, 'serve'>): AppMiddleware {
  return async (ctx, next) => {
    if (probePaths.has(ctx.path)) return next();
    const span = tracing.serve(ctx.method, ctx.get('traceparent'));
    ctx.state.traceId = span.traceId;
    const closed = new Promise<void>((resolve) => ctx.res.once('close', resolve));
    let failure: string | undefined;
    try {
      await span.run(next);
    } catch (error) {
      failure = errorLabel(error);
      throw error;
    } finally {
      void closed.then(() => {
        const status = answeredStatus(ctx);
        span.rename(`${ctx.method} ${ctx.state.route?.path ?? 'unmatched'}`);
        span.note(factsOf(ctx, status));
        span.end(status >= 500 ? (failure ?? String(status)) : undefined);
      });
    }
  };
}

const factsOf = ({ method, state }: AppContext, status: number) => ({
  'http.request.method': method,
  'http.route': state.route?.path,
  'http.response.status_code': status,
  'tollgate.request_id': state.requestId,
  'tollgate.project_id': state.key?.projectId,
  'tollgate.key_id': state.key?.keyId,
  'tollgate.model': state.modelId,
});
