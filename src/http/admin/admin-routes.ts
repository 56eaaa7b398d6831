import { allVerbs } from '../../verbs/table.ts';
import type { AccessDeps } from '../../commands/admin/admin-access.ts';
import type { OidcDeps } from '../../commands/admin/oidc-sign-in.ts';
import type { Route } from '../route.ts';
import { adminOpenapiRoute } from './openapi-route.ts';
import { oidcRoutes } from './oidc-routes.ts';
import { playgroundRoute } from './playground-route.ts';
import { sessionRoutes } from './session-routes.ts';
import { verbRoute, type VerbRouteDeps } from './verb-route.ts';

/**
 * Every route of the admin API: the verbs that are not local to the command line, the sessions of the console and the ways to begin one,
 * its playground, and the OpenAPI document.
 */
export function createAdminRoutes(deps: AccessDeps & OidcDeps & VerbRouteDeps): Route[] {
  const routes = [
    ...sessionRoutes(deps),
    ...oidcRoutes(deps),
    playgroundRoute(deps),
    ...allVerbs().flatMap(({ verb }) => ('local' in verb.route ? [] : [verbRoute(verb, verb.route, deps)])),
  ];
  return [...routes, adminOpenapiRoute(routes)];
}
