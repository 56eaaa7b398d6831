import type { AppContext, AppMiddleware } from '../context.ts';

/** Whose scripts may call a path from a browser. */
export type Crossing = 'every' | 'listed' | 'none';

/** What a script in a browser may read of an answer beside the few headers that it always may. */
const exposed = [
  'Content-Disposition',
  'Content-Range',
  'ETag',
  'Idempotent-Replayed',
  'Link',
  'Location',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'request-id',
  'x-request-id',
  'x-should-retry',
  'x-tollgate-accepted',
  'x-tollgate-attempts',
  'x-tollgate-clamped',
  'x-tollgate-ignored',
  'x-tollgate-credits',
  'x-tollgate-stream',
].join(', ');

/**
 * Lets the scripts of every page read the answers of a route whose URL is itself the permission. It does so without an `Origin` too, because
 * the browser may show the same answer to an `<img>` first and then to a script.
 */
export const openToEveryOrigin: AppMiddleware = (ctx, next) => {
  ctx.set('Access-Control-Allow-Origin', '*');
  ctx.set('Access-Control-Expose-Headers', exposed);
  return next();
};

/** A day; browsers keep the answer to a preflight for two hours at most. */
const PREFLIGHT_KEPT_SECONDS = 86_400;

/**
 * Lets scripts of these origins call the client routes from a browser (https://fetch.spec.whatwg.org/#http-cors-protocol). `*`
 * is any origin. Cookies are never involved: a key is in a header, which the script itself sets.
 * `crossing` says who may call the routes of the path from a page: `listed` origins, `every` one, or no page at all, as with operators' routes.
 */
export function allowOrigins(origins: readonly string[], crossing: (ctx: AppContext) => Crossing): AppMiddleware {
  const listed = new Set(origins);
  return async (ctx, next) => {
    if (listed.size > 0) ctx.vary('Origin');
    const origin = ctx.get('origin');
    const isPreflight = ctx.method === 'OPTIONS' && ctx.get('access-control-request-method') !== '';
    const isListed = listed.has('*') || listed.has(origin);
    // Routes for every origin answer for themselves (`openToEveryOrigin`), but no route answers a preflight.
    if (origin === '' || !(isListed || isPreflight)) return next();
    const who = crossing(ctx);
    if (who === 'none' || (who === 'listed' && !isListed)) return next();
    ctx.set('Access-Control-Allow-Origin', who === 'every' || listed.has('*') ? '*' : origin);
    ctx.set('Access-Control-Expose-Headers', exposed);
    if (!isPreflight) return next();
    ctx.set('Access-Control-Allow-Methods', 'GET, HEAD, POST, DELETE');
    // `*` would not cover Authorization, and SDKs send headers of their own.
    ctx.set('Access-Control-Allow-Headers', ctx.get('access-control-request-headers'));
    ctx.set('Access-Control-Max-Age', String(PREFLIGHT_KEPT_SECONDS));
    ctx.status = 204;
  };
}
