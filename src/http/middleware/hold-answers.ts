import { Readable } from 'node:stream';
import { createFairBudget } from '../../platform/fair-budget.ts';
import type { AppContext, AppMiddleware } from '../context.ts';
import { cutOffSlowReader } from '../slow-reader.ts';

/** From this size on, an answer counts as large. Smaller ones find their place in the kernel's buffer of the connection. */
const LARGE_BYTES = 16_384;
/** Large answers that wait for their readers, together. Those of an event loop that keeps up are gone within milliseconds. */
const HELD_MAX_BYTES = 64_000_000;

/**
 * Bounds the memory of answers that clients do not read. Every large one counts, until it has left or its connection has closed, for
 * its project, its operator or the address of a client without a key, and its reader is cut off if it is too slow. A GET beyond the bound
 * is refused as `overloaded`. The answer to any other method is sent, because what it tells has been done and may have been paid for.
 *
 * Streams are bounded by those who make them: files, events.
 */
export function holdAnswers(): AppMiddleware {
  const memory = createFairBudget({
    total: HELD_MAX_BYTES,
    message: 'Too many answers wait for clients that do not read them. Try again in a few seconds.',
  });
  return async (ctx, next) => {
    await next();
    const bytes = writtenBytes(ctx);
    if (bytes < LARGE_BYTES || ctx.method === 'HEAD' || ctx.res.closed) return;
    const share = memory.open(readerOf(ctx));
    if (ctx.method === 'GET') share.take(bytes);
    else share.add(bytes);
    ctx.res.once('close', () => share.release());
    cutOffSlowReader(ctx.res);
  };
}

const readerOf = ({ state, request }: AppContext): string =>
  state.key?.projectId ?? state.admin?.principalId ?? request.ip;

/**
 * Turns an object into JSON, and returns the length of the answer. A large text becomes bytes: as a string it would be in the heap and
 * a second time in the socket.
 */
function writtenBytes(ctx: AppContext): number {
  const body: unknown = ctx.body;
  if (Buffer.isBuffer(body)) return body.length;
  if (body === null || body instanceof Readable) return 0;
  // Serialised here and not by Koa, so that a body that cannot be serialised is still an error in the right dialect.
  if (typeof body === 'object' && !ctx.response.get('content-type')) ctx.type = 'json';
  const text = typeof body === 'object' ? JSON.stringify(body) : typeof body === 'string' ? body : '';
  if (typeof body === 'object') ctx.body = text;
  if (text.length < LARGE_BYTES) return text.length;
  const bytes = Buffer.from(text);
  ctx.body = bytes;
  return bytes.length;
}
