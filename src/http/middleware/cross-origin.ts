import type { AppContext, AppMiddleware } from '../context.ts';

/** What a script in a browser may read of an answer beside the few headers that it always may. */
const exposed = [
  'ETag',
  'Idempotent-Replayed',
  'Location',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'x-request-id',
  'x-should-retry',
  'x-tollgate-attempts',
  'x-tollgate-clamped',
  'x-tollgate-credits',
  'x-tollgate-stream',
].join(', ');

/** A day; browsers keep the answer to a preflight for two hours at most. */
const PREFLIGHT_KEPT_SECONDS = 86_400;

/**
 * Lets scripts of these origins call the client routes from a browser (https://fetch.spec.whatwg.org/#http-cors-protocol). `*`
 * is any origin. Cookies are never involved: a key is in a header, which the script itself sets.
 * `mayCross` says whether the path has such a route; operators' routes have none.
 */
export function allowOrigins(origins: readonly string[], mayCross: (ctx: AppContext) => boolean): AppMiddleware {
  const known = new Set(origins);
  return async (ctx, next) => {
    ctx.vary('Origin');
    const origin = ctx.get('origin');
    const isAllowed = origin !== '' && (known.has('*') || known.has(origin)) && mayCross(ctx);
    if (!isAllowed) return next();
    ctx.set('Access-Control-Allow-Origin', known.has('*') ? '*' : origin);
    ctx.set('Access-Control-Expose-Headers', exposed);
    const isPreflight = ctx.method === 'OPTIONS' && ctx.get('access-control-request-method') !== '';
    if (!isPreflight) return next();
    ctx.set('Access-Control-Allow-Methods', 'GET, HEAD, POST, DELETE');
    // `*` would not cover Authorization, and SDKs send headers of their own.
    ctx.set('Access-Control-Allow-Headers', ctx.get('access-control-request-headers'));
    ctx.set('Access-Control-Max-Age', String(PREFLIGHT_KEPT_SECONDS));
    ctx.status = 204;
  };
}
