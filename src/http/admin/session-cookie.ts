import type { AppContext } from '../context.ts';
import { adminPrefix } from './admin-prefix.ts';

/** A cookie that scripts cannot read. A page of another site sends it with a link only (SameSite=Lax), as an identity provider must. */
interface SecretCookie {
  name: string;
  /** The paths that get it begin with this one. */
  path: string;
}

const sessionCookie: SecretCookie = { name: 'tollgate_session', path: adminPrefix };

/** The secret of the session in the request's cookie. */
export const sessionOf = (ctx: AppContext): string | undefined => cookieSecretOf(ctx, sessionCookie);

/** Sets the cookie of a session. Only the paths of the admin API get it. */
export function setSessionCookie(
  ctx: AppContext,
  session: { session: string; expiresAt: number },
  secure: boolean,
): void {
  const seconds = Math.max(1, session.expiresAt - Math.floor(Date.now() / 1_000));
  setSecret(ctx, sessionCookie, { value: session.session, seconds, secure });
}

export const clearSessionCookie = (ctx: AppContext): void =>
  setSecret(ctx, sessionCookie, { value: '', seconds: 0, secure: isFromHttps(ctx) });

/** The browser's own Origin says whether it came by https, also behind a proxy. Browsers send it with every write. */
export const isFromHttps = (ctx: AppContext): boolean => ctx.get('origin').startsWith('https://');

export const cookieSecretOf = (ctx: AppContext, { name }: SecretCookie): string | undefined =>
  ctx.cookies.get(name) || undefined;

/** Sets a cookie beside those that the answer sets already. No seconds remove it. */
export function setSecret(
  ctx: AppContext,
  { name, path }: SecretCookie,
  { value, seconds, secure }: { value: string; seconds: number; secure: boolean },
): void {
  const parts = [`${name}=${value}`, `Path=${path}`, `Max-Age=${seconds}`, 'HttpOnly', 'SameSite=Lax'];
  ctx.append('Set-Cookie', [...parts, ...(secure ? ['Secure'] : [])].join('; '));
}
