import { GatewayError } from '../../domain/errors.ts';
import type { AppContext } from '../context.ts';

/**
 * Refuses a request that a page of another site, or of a neighbour such as another subdomain, sends with the cookie of the console.
 * Browsers say so in headers that no script can set (https://w3c.github.io/webappsec-fetch-metadata). A browser without
 * `Sec-Fetch-Site` sends `Origin` with every write. A write with neither comes from no browser and has no reason to use a cookie.
 */
export function demandSameOrigin(ctx: AppContext): void {
  const isRead = ctx.method === 'GET' || ctx.method === 'HEAD';
  const site = ctx.get('sec-fetch-site');
  const origin = ctx.get('origin');
  const isOwn =
    site !== ''
      ? site === 'same-origin' || (isRead && site === 'none')
      : origin === ''
        ? isRead
        : URL.canParse(origin) && new URL(origin).host === ctx.get('host');
  if (!isOwn) throw new GatewayError('cross_site_request');
}
