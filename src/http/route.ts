import type { AppMiddleware } from './context.ts';
import type { RouteFacts } from './route-facts.ts';

/** One row of the route table. */
export type Route = RouteFacts & RouteMiddlewares;

interface RouteMiddlewares {
  /** What refuses a request of this route before its key is looked up, or words its refusals. */
  beforeAuth?: readonly AppMiddleware[];
  /** What refuses a request of this route before its body is read. */
  beforeBody?: readonly AppMiddleware[];
  handler: AppMiddleware;
}

/** Whether clients call a route: all but those for schedulers and operators. */
export const isClientRoute = ({ auth }: Pick<Route, 'auth'>): boolean => ['api_key', 'signed', 'none'].includes(auth);
