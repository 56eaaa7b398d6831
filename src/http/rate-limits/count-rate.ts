import type { Deps } from '../../deps.ts';
import { GatewayError } from '../../domain/errors.ts';
import { keyOf, type AppContext } from '../context.ts';
import { setRateHeaders } from './rate-headers.ts';

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
  if (!rate.admitted) throw new GatewayError('rate_limit_exceeded', { retryAfterSeconds: rate.retryAfterSeconds ?? 1 });
}
