import type { Next } from 'koa';
import { GatewayError } from '../../domain/errors.ts';
import { keyOf, type AppContext, type AppMiddleware } from '../context.ts';
import { countRate, type RateDeps } from './count-rate.ts';
import { isDatabaseTrouble } from '../database-trouble.ts';
import { setRateHeaders } from './rate-headers.ts';
import { ClientGone } from '../read-body.ts';

/** Reading is so cheap that a key may do ten times as much of it as its limit says; counted per process, by its clock. */
const pollShare = 10;
const windowMs = 60_000;
const keysMax = 10_000;

interface Bucket {
  tokens: number;
  at: number;
}

/**
 * Requests per minute of keys that have a limit (rules "Keys and auth"). POST is exact over all instances, by the
 * database's clock; GET has an approximate bucket of its own in this process, so that polls never keep creates out.
 */
export function limitRate(deps: RateDeps): AppMiddleware {
  const buckets = new Map<string, Bucket>();
  return async (ctx, next) => {
    const { keyId, rpm } = keyOf(ctx);
    if (rpm === null) {
      await next();
      return;
    }
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') {
      if (ctx.state.route?.rate === 'in_handler') return countedBelow(deps, ctx, next);
      await countRate(deps, ctx);
      await next();
      return;
    }
    const limit = rpm * pollShare;
    const left = takeToken(buckets, keyId, limit);
    const secondsPerToken = windowMs / 1000 / limit;
    setRateHeaders(ctx, limit, {
      remaining: Math.max(0, Math.floor(left)),
      resetSeconds: Math.ceil(secondsPerToken * (limit - left)),
    });
    if (left < 0)
      throw new GatewayError('rate_limit_exceeded', { retryAfterSeconds: Math.max(1, Math.ceil(secondsPerToken)) });
    await next();
  };
}

/**
 * For a handler that counts in the call that admits. What is refused before that call, by the body's reader or the handler, is
 * counted here, so that no request is free.
 */
async function countedBelow(deps: RateDeps, ctx: AppContext, next: Next): Promise<void> {
  try {
    await next();
  } catch (error) {
    // A database in trouble is 503 already: asked again it would only be another wait. A broken connection looks alike.
    const databaseAway = !(error instanceof ClientGone) && isDatabaseTrouble(error);
    if (!ctx.state.rateCounted && !databaseAway) await countRate(deps, ctx);
    throw error;
  }
}

/** What is left after taking one; below zero there was none to take. */
function takeToken(buckets: Map<string, Bucket>, keyId: string, limit: number): number {
  const now = performance.now();
  const bucket = buckets.get(keyId) ?? { tokens: limit, at: now };
  const refilled = Math.min(limit, bucket.tokens + ((now - bucket.at) / windowMs) * limit);
  const left = refilled - 1;
  buckets.delete(keyId);
  buckets.set(keyId, { tokens: Math.max(left, refilled < 1 ? refilled : left), at: now });
  const oldest = buckets.size > keysMax ? buckets.keys().next() : undefined;
  if (oldest && !oldest.done) buckets.delete(oldest.value);
  return left;
}
