import { LRUCache } from 'lru-cache';
import type { Next } from 'koa';
import type { Deps } from '../../deps.ts';
import { GatewayError } from '../../domain/errors.ts';
import { keyOf, type AppContext, type AppMiddleware } from '../context.ts';
import { isDatabaseTrouble } from '../server/database-trouble.ts';
import { ClientGone } from '../request/read-body.ts';

/** Reads are cheap, so a key may read ten times as often as its limit. Counted per process, by its own clock. */
const pollShare = 10;
const windowMs = 60_000;
const keysMax = 10_000;

export interface RateDeps {
  rateLimiter: Pick<Deps['rateLimiter'], 'hit'>;
}

interface Bucket {
  tokens: number;
  at: number;
}

/**
 * Limits the requests per minute of keys that have a limit (rules "Keys and auth"). POST is exact over all instances, by the database
 * clock. GET has a separate, approximate bucket in this process, so that polls never use up the limit of creates.
 */
export function limitRate(deps: RateDeps): AppMiddleware {
  const buckets = new LRUCache<string, Bucket>({ max: keysMax });
  return async (ctx, next) => {
    const { keyId, rpm } = keyOf(ctx);
    if (rpm === null) return next();
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') {
      if (ctx.state.route?.rate === 'in_handler') return countedBelow(deps, ctx, next);
      await countRate(deps, ctx);
      return next();
    }
    const limit = rpm * pollShare;
    const left = takeToken(buckets, keyId, limit);
    const secondsPerToken = windowMs / 1000 / limit;
    setRateHeaders(ctx, limit, {
      remaining: Math.max(0, Math.floor(left)),
      resetSeconds: Math.ceil(secondsPerToken * (limit - left)),
    });
    if (left < 0) {
      const message = `This key may read ${limit} times per minute, and has done so.`;
      throw new GatewayError('rate_limit_exceeded', {
        message,
        retryAfterSeconds: Math.max(1, Math.ceil(secondsPerToken)),
      });
    }
    await next();
  };
}

/**
 * For routes whose handler counts the request as part of the admission. A request that is refused before the admission is counted
 * here, so that no request is free.
 */
async function countedBelow(deps: RateDeps, ctx: AppContext, next: Next): Promise<void> {
  try {
    await next();
  } catch (error) {
    // If the database failed, the answer is 503 already; counting would only wait for the database again.
    const databaseAway = !(error instanceof ClientGone) && isDatabaseTrouble(error);
    // A full budget refuses within this process; a count would cost the database a statement for each refusal.
    const isOverload = error instanceof GatewayError && error.code === 'overloaded';
    if (!ctx.state.rateCounted && !databaseAway && !isOverload) await countRate(deps, ctx);
    throw error;
  }
}

/** The remaining count after this request. Negative if the bucket was empty. */
function takeToken(buckets: LRUCache<string, Bucket>, keyId: string, limit: number): number {
  const now = performance.now();
  const bucket = buckets.get(keyId) ?? { tokens: limit, at: now };
  const refilled = Math.min(limit, bucket.tokens + ((now - bucket.at) / windowMs) * limit);
  const left = refilled - 1;
  buckets.set(keyId, { tokens: Math.max(left, refilled < 1 ? refilled : left), at: now });
  return left;
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
