import { allActions } from '../../admin/table.ts';
import type { AccessDeps } from '../../services/operators/admin-access.ts';
import type { OidcDeps } from '../../services/operators/oidc-sign-in.ts';
import type { Route } from '../route.ts';
import { adminOpenapiRoute } from './openapi-route.ts';
import { oidcRoutes } from './oidc-routes.ts';
import { playgroundRoute } from './playground-route.ts';
import { sessionRoutes } from './session-routes.ts';
import { actionRoute, type ActionRouteDeps } from './action-route.ts';

/**
 * Every route of the admin API: the actions that are not local to the command line, the sessions of the console and the ways to begin one,
 * its playground, and the OpenAPI document.
 */
export function createAdminRoutes(deps: AccessDeps & OidcDeps & ActionRouteDeps): Route[] {
  const routes = [
    ...allActions().flatMap(({ name, action }) =>
      'local' in action.route ? [] : [actionRoute(name, action, action.route, deps)],
    ),
    ...sessionRoutes(deps),
    ...oidcRoutes(deps),
    playgroundRoute(deps),
  ];
  return [...routes, adminOpenapiRoute(routes)];
}
