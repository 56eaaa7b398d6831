import { createFairBudget, type FairBudget } from '../../platform/fair-budget.ts';
import type { AppContext, AppMiddleware } from '../context.ts';
import { cutOffSlowReader } from '../server/slow-reader.ts';
import { LARGE_BYTES, writeBody } from '../response/write-body.ts';

/** Large answers that wait for their readers, together. Those of an event loop that keeps up are gone within milliseconds. */
const HELD_MAX_BYTES = 64_000_000;

/** The memory of unread answers. All listeners of a process share one. */
export const createAnswerMemory = (): FairBudget =>
  createFairBudget({
    total: HELD_MAX_BYTES,
    message: 'Too many answers wait for clients that do not read them. Try again in a few seconds.',
  });

/**
 * Bounds the memory of answers that clients do not read. Every large one counts, until it has left or its connection has closed, for
 * its project, its operator or the address of a client without a key, and its reader is cut off if it is too slow. A GET beyond the bound
 * is refused as `overloaded`. The answer to any other method is sent, because what it tells has been done and may have been paid for.
 *
 * Streams are bounded by those who make them: files, events.
 */
export function holdAnswers(memory: FairBudget): AppMiddleware {
  return async (ctx, next) => {
    await next();
    const bytes = await writeBody(ctx);
    if (bytes < LARGE_BYTES || ctx.method === 'HEAD' || ctx.res.closed) return;
    const share = memory.open(readerOf(ctx));
    if (ctx.method === 'GET') share.take(bytes);
    else share.add(bytes);
    ctx.res.once('close', () => share.release());
    cutOffSlowReader(ctx.res);
  };
}

/** Who is answered: a project, an operator, or the address of a client without a key. */
export const readerOf = ({ state, request }: AppContext): string =>
  state.key?.projectId ?? state.admin?.principalId ?? request.ip;
