import type { AppContext } from '../context.ts';

/**
 * The rate-limit headers of a key: those of the IETF draft "ratelimit-headers" and those that OpenAI's SDKs read. Times are in
 * seconds.
 */
export function setRateHeaders(ctx: AppContext, rpm: number, rate: { remaining: number; resetSeconds: number }): void {
  ctx.set('RateLimit-Policy', `"key";q=${rpm};w=60`);
  ctx.set('RateLimit', `"key";r=${rate.remaining};t=${rate.resetSeconds}`);
  ctx.set('x-ratelimit-limit-requests', String(rpm));
  ctx.set('x-ratelimit-remaining-requests', String(rate.remaining));
  ctx.set('x-ratelimit-reset-requests', `${rate.resetSeconds}s`);
}
