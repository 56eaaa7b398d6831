import type { AppContext } from '../context.ts';
import { adminPrefix } from './admin-prefix.ts';

const name = 'tollgate_session';

/** The secret of the session in the request's cookie. */
export const sessionOf = (ctx: AppContext): string | undefined => ctx.cookies.get(name) || undefined;

/**
 * Sets the cookie of a session, or removes it where the secret is empty. Scripts cannot read it, and only the paths of the admin API
 * get it. The browser's own Origin says whether it came by https, also behind a proxy.
 */
export function setSessionCookie(ctx: AppContext, secret: string, seconds: number): void {
  const isSecure = ctx.get('origin').startsWith('https://');
  const parts = [`${name}=${secret}`, `Path=${adminPrefix}`, `Max-Age=${seconds}`, 'HttpOnly', 'SameSite=Lax'];
  ctx.set('Set-Cookie', [...parts, ...(isSecure ? ['Secure'] : [])].join('; '));
}
