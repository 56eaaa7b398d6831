import { GatewayError, quoted } from '../domain/errors.ts';
import type { AppContext, AppMiddleware } from './context.ts';

/**
 * Refuses a query parameter that the route does not read, and one that is sent twice. A client that relies on a parameter must learn
 * that it has no effect. Runs after authentication, so that a request without a valid key gets only its 401.
 */
export const demandKnownQuery =
  (known: readonly string[]): AppMiddleware =>
  async (ctx, next) => {
    if (ctx.querystring === '') return next();
    const seen = new Set<string>();
    for (const name of new URLSearchParams(ctx.querystring).keys()) {
      const param = quoted(name);
      if (!known.includes(name)) {
        const message = `The query parameter ${param} is not supported here.`;
        throw new GatewayError('unsupported_parameter', { param, message });
      }
      if (seen.has(name)) {
        throw new GatewayError('invalid_value', { message: `The query parameter ${param} was sent twice.`, param });
      }
      seen.add(name);
    }
    await next();
  };

/** The value of a query parameter. Undefined if it is absent or empty. */
export const queryValue = (ctx: AppContext, param: string): string | undefined =>
  new URLSearchParams(ctx.querystring).get(param) || undefined;

/** A whole number from 1 to `max`. Throws `invalid_value` for any other value. */
export function queryLimit(ctx: AppContext, { fallback, max }: { fallback: number; max: number }): number {
  const given = queryValue(ctx, 'limit');
  if (given === undefined) return fallback;
  const limit = /^\d{1,6}$/.test(given) ? Number(given) : 0;
  if (limit >= 1 && limit <= max) return limit;
  const message = `limit: ${quoted(given)} is not a whole number from 1 to ${max}.`;
  throw new GatewayError('invalid_value', { message, param: 'limit' });
}
