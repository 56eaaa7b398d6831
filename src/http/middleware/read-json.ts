import { GatewayError } from '../../domain/errors.ts';
import type { FairBudget } from '../../platform/fair-budget.ts';
import type { BodyTurns } from '../server/body-turns.ts';
import { ownerOf, withDeployment, type AppMiddleware } from '../context.ts';
import { readJsonBody, type JsonLimits } from '../request/read-body.ts';
import { LARGE_BYTES } from '../response/write-body.ts';

interface ReaderLimits extends Omit<JsonLimits, 'share' | 'beforeParse' | 'beforeHuge'> {
  /** Shared by the whole process. A body counts until its request has been answered. */
  memory: FairBudget;
  /** Shared by the whole process, too. */
  turns: BodyTurns;
}

/** As `readJson`, and an empty object for a request without a body. */
export const readJsonIfAny =
  (read: AppMiddleware): AppMiddleware =>
  async (ctx, next) => {
    const { 'content-length': length = '0', 'transfer-encoding': coding } = ctx.req.headers;
    if (coding !== undefined || length !== '0') return read(ctx, next);
    ctx.request.body = {};
    await next();
  };

/**
 * Puts the request's JSON object into `ctx.request.body`. Large ones of one owner take turns, and so do their refusals
 * (`createBodyTurns`). Throws what `readJsonBody` throws.
 */
export function readJson({ memory, turns, ...limits }: ReaderLimits): AppMiddleware {
  return async (ctx, next) => {
    const share = memory.open(ownerOf(ctx));
    let endTurn = (_bytes: number): void => undefined;
    const beforeParse: JsonLimits['beforeParse'] = async ({ bytes, isCompressed }) => {
      // Only unpacking tells how large a compressed one is.
      if (isCompressed || bytes >= LARGE_BYTES) endTurn = await turns.begin(ctx, ownerOf(ctx), bytes);
    };
    const beforeHuge = async (): Promise<void> => {
      endTurn(share.held);
      endTurn = await turns.begin(ctx, ownerOf(ctx), Infinity);
    };
    let isRead = false;
    try {
      ctx.request.body = withDeployment(ctx, await readJsonBody(ctx, { ...limits, share, beforeParse, beforeHuge }));
      isRead = true;
      const answering = next();
      endTurn(share.held);
      await answering;
    } catch (error) {
      const bytes = Math.min(Math.max(Number(ctx.req.headers['content-length'] ?? 0), share.held), limits.maxBytes);
      if (!isRead && bytes >= LARGE_BYTES && isRefused(error)) {
        // Neither its turn nor its memory is needed while the refusal waits.
        endTurn(share.held);
        share.release();
        await turns.refuse(ctx, ownerOf(ctx), bytes);
      }
      throw error;
    } finally {
      endTurn(share.held);
      // A slow client may take long to read the answer. The request's body must not stay in memory until then.
      delete ctx.request.body;
      share.release();
    }
  };
}

/** Whether the body itself is wrong. A refusal for lack of memory or time is sent immediately. */
const isRefused = (error: unknown): boolean => error instanceof GatewayError && error.code === 'invalid_json';
