import { GatewayError, quoted } from '../../domain/errors.ts';
import type { Scope } from '../../domain/projects/scope.ts';
import { computedOnce } from '../../domain/computed-once.ts';
import { addressMatcher } from '../../platform/egress/public-address.ts';
import { keyOf, type AppContext, type AppMiddleware } from '../context.ts';

/** Refuses a request from an address outside the ranges of its key. */
export const demandIpRange: AppMiddleware = (ctx, next) => {
  const { ipRanges } = keyOf(ctx);
  if (ipRanges !== null && !matcherOf(ipRanges)(ctx.ip)) {
    const message = `This key may not be used from the address ${quoted(ctx.ip)}.`;
    throw new GatewayError('ip_not_allowed', { message });
  }
  return next();
};

/** Parses the ranges of a key once for as long as the key is cached: 0.8 instead of 22 µs a request for three ranges (27 November 2026). */
const matcherOf = computedOnce(addressMatcher);

/** Refuses a key that has none of the scopes of its route. */
export const demandRouteScope: AppMiddleware = (ctx, next) => {
  demandScope(ctx, ...(ctx.state.route?.scopes ?? []));
  return next();
};

/** Throws `scope_not_allowed` unless the key has one of these scopes. */
export function demandScope(ctx: AppContext, ...accepted: readonly Scope[]): void {
  const { scopes } = keyOf(ctx);
  if (accepted.some((scope) => scopes.includes(scope))) return;
  const message = `This request needs a key with the scope ${accepted.join(' or ')}. This key has ${scopes.join(' and ')}.`;
  throw new GatewayError('scope_not_allowed', { message });
}
