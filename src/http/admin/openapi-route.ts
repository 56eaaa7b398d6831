import { answerCoded, renderCoded, renderJson, type CodedBody } from '../response/representations.ts';
import type { Route } from '../route.ts';
import { adminDocument, type DescribedAdminRoute } from './admin-document.ts';
import { adminPrefix } from './admin-prefix.ts';

/** `GET /openapi.json`: the document of these routes and of itself. It needs no token, and has nothing of the installation. */
export function adminOpenapiRoute(others: readonly DescribedAdminRoute[]): Route {
  let document: CodedBody | undefined;
  const route: Route = {
    auth: 'none',
    method: 'GET',
    path: `${adminPrefix}/openapi.json`,
    dialect: 'openai',
    body: 'none',
    handler: (ctx) => answerCoded(ctx, (document ??= renderCoded(renderJson(adminDocument([...others, route]))))),
  };
  return route;
}
