import type { FairBudget } from '../../platform/fair-budget.ts';
import { ownerOf, withDeployment, type AppMiddleware } from '../context.ts';
import type { BodyLimits } from '../request/read-body.ts';
import { isForm, readFormBody } from '../request/read-form.ts';

interface FormLimits extends Omit<BodyLimits, 'share'> {
  /** Shared by the whole process. A form counts until its request has been answered. */
  memory: FairBudget;
}

/** Puts a form into `ctx.request.body` as the JSON object that stands for it, and leaves any other body to `readJson`. */
export function readJsonOrForm(readJson: AppMiddleware, { memory, ...limits }: FormLimits): AppMiddleware {
  return async (ctx, next) => {
    if (!isForm(ctx.req)) return readJson(ctx, next);
    const share = memory.open(ownerOf(ctx));
    try {
      ctx.request.body = withDeployment(ctx, await readFormBody(ctx, { ...limits, share }));
      await next();
    } finally {
      delete ctx.request.body;
      share.release();
    }
  };
}
