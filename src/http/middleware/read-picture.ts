import type { FairBudget } from '../../platform/fair-budget.ts';
import { ownerOf, type AppMiddleware } from '../context.ts';
import type { BodyLimits } from '../request/read-body.ts';
import { readUpload } from '../request/read-upload.ts';

interface PictureLimits extends Omit<BodyLimits, 'share'> {
  /** Shared by the whole process. A picture counts until its request has been answered. */
  memory: FairBudget;
}

/** Puts the bytes of an upload into `ctx.request.picture`. Throws what `readUpload` throws. */
export function readPicture({ memory, ...limits }: PictureLimits): AppMiddleware {
  return async (ctx, next) => {
    const share = memory.open(ownerOf(ctx));
    try {
      ctx.request.picture = await readUpload(ctx, { ...limits, share });
      await next();
    } finally {
      delete ctx.request.picture;
      share.release();
    }
  };
}
