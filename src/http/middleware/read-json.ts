import type { createByteBudget } from '../byte-budget.ts';
import type { AppMiddleware } from '../context.ts';
import { readJsonBody } from '../read-body.ts';

interface JsonLimits {
  maxBytes: number;
  timeoutMs: number;
  /** Shared by the whole process. A body counts until its request has been answered. */
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
      // A slow client may take long to read the answer. The request's body must not stay in memory until then.
      delete ctx.request.body;
      share.release();
    }
  };
}
