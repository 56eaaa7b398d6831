import { z } from 'zod';
import { accessByToken, beginSession, endSession, type AccessDeps } from '../../services/admin/admin-access.ts';
import type { AdminAccess } from '../../domain/operators/admin-access.ts';
import { GatewayError } from '../../domain/errors.ts';
import { adminOf, type AppMiddleware } from '../context.ts';
import type { Route } from '../route.ts';
import { validate } from '../request/validate.ts';
import { adminPrefix } from './admin-prefix.ts';
import { demandSameOrigin } from './same-origin.ts';
import { clearSessionCookie, isFromHttps, sessionOf, setSessionCookie } from './session-cookie.ts';

/** Sessions of the console, and sign-in by a token, which becomes a session whose secret only the browser's cookie has. */
export function sessionRoutes(deps: AccessDeps): Route[] {
  const shared = { path: `${adminPrefix}/session`, dialect: 'openai' } as const;
  const own = { ...shared, auth: 'admin', role: 'viewer', body: 'none' } as const;
  return [
    { ...shared, auth: 'sign_in', method: 'POST', body: 'json', handler: signIn(deps) },
    { ...own, method: 'GET', handler: showSession },
    { ...own, method: 'DELETE', handler: signOut(deps) },
  ];
}

export const SignIn = z.strictObject({ token: z.string().min(1).max(200) });

/** `POST /session`. Another site must not sign a visitor in either. */
const signIn =
  (deps: AccessDeps): AppMiddleware =>
  async (ctx) => {
    if (ctx.get('origin') !== '' || ctx.get('sec-fetch-site') !== '') demandSameOrigin(ctx);
    const { token } = validate(SignIn, ctx.request.body);
    const access = await accessByToken(deps, token);
    if (!access) throw new GatewayError('invalid_admin_token');
    const begun = await beginSession(deps, access);
    setSessionCookie(ctx, begun, isFromHttps(ctx));
    ctx.body = present({ ...access, expiresAt: begun.expiresAt });
  };

/** `GET /session` */
const showSession: AppMiddleware = (ctx) => {
  ctx.body = present(adminOf(ctx));
  return Promise.resolve();
};

/** `DELETE /session` */
const signOut =
  (deps: AccessDeps): AppMiddleware =>
  async (ctx) => {
    const session = sessionOf(ctx);
    const ended = session !== undefined && (await endSession(deps, session, adminOf(ctx)));
    clearSessionCookie(ctx);
    ctx.body = { ended };
  };

const present = ({ name, role, expiresAt }: AdminAccess) => ({ name, role, expires_at: expiresAt });
