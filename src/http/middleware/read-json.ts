import type { createByteBudget } from '../byte-budget.ts';
import type { AppMiddleware } from '../context.ts';
import { readJsonBody } from '../read-body.ts';

interface JsonLimits {
  maxBytes: number;
  timeoutMs: number;
  /** Of the whole process; a body counts until its request has been answered. */
  memory: ReturnType<typeof createByteBudget>;
}

/** Puts the request's JSON object into `ctx.request.body`. Throws what `readJsonBody` throws, and `overloaded`. */
export function readJson({ memory, ...limits }: JsonLimits): AppMiddleware {
  return async (ctx, next) => {
    const share = memory.open();
    const onBytes = (bytes: number): void => share.take(bytes);
    const onWanted = (): void => {
      if (ctx.get('expect').toLowerCase() === '100-continue') ctx.res.writeContinue();
    };
    try {
      ctx.request.body = await readJsonBody(ctx.req, { ...limits, onBytes, onWanted });
      await next();
    } finally {
      // An answer may wait long for its client; what was asked need not wait with it.
      delete ctx.request.body;
      share.release();
    }
  };
}
