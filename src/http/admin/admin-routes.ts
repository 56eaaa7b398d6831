import { allVerbs } from '../../verbs/table.ts';
import type { AccessDeps } from '../../commands/admin/admin-access.ts';
import type { Route } from '../route.ts';
import { adminOpenapiRoute } from './openapi-route.ts';
import { playgroundRoute } from './playground-route.ts';
import { sessionRoutes } from './session-routes.ts';
import { verbRoute, type VerbRouteDeps } from './verb-route.ts';

/**
 * Every route of the admin API: the verbs that are not local to the command line, the sessions of the console, its playground, and the
 * OpenAPI document.
 */
export function createAdminRoutes(deps: AccessDeps & VerbRouteDeps): Route[] {
  const routes = [
    ...sessionRoutes(deps),
    playgroundRoute(deps),
    ...allVerbs().flatMap(({ verb }) => ('local' in verb.route ? [] : [verbRoute(verb, verb.route, deps)])),
  ];
  return [...routes, adminOpenapiRoute(routes)];
}
