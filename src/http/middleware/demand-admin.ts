import { includesRole } from '../../domain/operators/role.ts';
import { GatewayError } from '../../domain/errors.ts';
import { sessionOf } from '../admin/session-cookie.ts';
import { demandSameOrigin } from '../admin/same-origin.ts';
import type { AppContext, AppMiddleware } from '../context.ts';
import { bearerCredentials } from '../request/credentials.ts';
import type { AdminAccessFinder } from '../http-deps.ts';
import type { FailureThrottle } from '../rate-limits/failure-throttle.ts';
import { refuse } from './authenticate.ts';

/**
 * Accepts a request with a valid admin token, or with the cookie of a session that a page of another site did not send. Stores who
 * asks in `ctx.state.admin`, and refuses a role that the route does not allow.
 */
export function demandAdmin(finder: AdminAccessFinder | undefined, failures: FailureThrottle): AppMiddleware {
  return async (ctx, next) => {
    if (!finder) throw new GatewayError('not_found');
    const [token, ...others] = bearerCredentials(ctx.req);
    if (others.length > 0) throw new GatewayError('ambiguous_credentials');
    const session = token === undefined ? sessionOf(ctx) : undefined;
    if (session !== undefined) demandSameOrigin(ctx);
    const access =
      token !== undefined
        ? await finder.byToken(token)
        : session === undefined
          ? null
          : await finder.bySession(session);
    if (!access)
      throw refuse(ctx, failures, new GatewayError('invalid_admin_token', { message: unknownTokenMessage(token) }));
    ctx.state.admin = access;
    demandRole(ctx);
    await next();
  };
}

/** Tells clients that mix up the two APIs. */
const unknownTokenMessage = (token = ''): string | undefined =>
  token.startsWith('sk-')
    ? 'An API key does not open the admin API. Send an admin token, which begins with adm_.'
    : undefined;

function demandRole({ state: { route, admin } }: AppContext): void {
  if (route?.auth !== 'admin' || !admin || includesRole(admin.role, route.role)) return;
  const message = `This needs the role ${route.role}. You have the role ${admin.role}.`;
  throw new GatewayError('role_not_allowed', { message });
}
