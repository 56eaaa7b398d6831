import type { Deps } from '../../deps.ts';
import { GatewayError } from '../../domain/errors.ts';
import { keyOf, type AppContext } from '../context.ts';

export interface RateDeps {
  rateLimiter: Pick<Deps['rateLimiter'], 'hit'>;
}

/** Counts one request of a key that has a limit, and throws 429 when it is over. Without the database the answer is 503, never "allow all". */
export async function countRate({ rateLimiter }: RateDeps, ctx: AppContext): Promise<void> {
  const { keyId, rpm } = keyOf(ctx);
  ctx.state.rateCounted = true;
  if (rpm === null) return;
  const rate = await rateLimiter.hit(keyId, rpm);
  setRateHeaders(ctx, rpm, rate);
  if (rate.admitted) return;
  const message = `This key may send ${rpm} such requests per minute, and has sent them.`;
  throw new GatewayError('rate_limit_exceeded', { message, retryAfterSeconds: rate.retryAfterSeconds ?? 1 });
}

/**
 * The rate-limit headers of a key: those of the IETF draft "ratelimit-headers" and those that OpenAI's SDKs read. Times are in
 * seconds. Set on Node's response and not by Koa, which makes five objects for each header.
 */
export function setRateHeaders(ctx: AppContext, rpm: number, rate: { remaining: number; resetSeconds: number }): void {
  const { res } = ctx;
  if (res.headersSent) return;
  res.setHeader('RateLimit-Policy', `"key";q=${rpm};w=60`);
  res.setHeader('RateLimit', `"key";r=${rate.remaining};t=${rate.resetSeconds}`);
  res.setHeader('x-ratelimit-limit-requests', String(rpm));
  res.setHeader('x-ratelimit-remaining-requests', String(rate.remaining));
  res.setHeader('x-ratelimit-reset-requests', `${rate.resetSeconds}s`);
}
