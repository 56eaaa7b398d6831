import type { AppMiddleware } from '../context.ts';
import { readJsonBody } from '../read-body.ts';

/** Puts the request's JSON object into `ctx.request.body`. Throws what `readJsonBody` throws. */
export function readJson(limits: { maxBytes: number; timeoutMs: number }): AppMiddleware {
  return async (ctx, next) => {
    const onWanted = (): void => {
      if (ctx.get('expect').toLowerCase() === '100-continue') ctx.res.writeContinue();
    };
    ctx.request.body = await readJsonBody(ctx.req, { ...limits, onWanted });
    await next();
  };
}
