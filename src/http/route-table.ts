import Router from '@koa/router';
import compose from 'koa-compose';
import type { AppContext, AppExtra, AppMiddleware, AppState } from './context.ts';
import type { Route } from './route.ts';

export interface RouteTable {
  /** Answers a request whose method and path a route has, and passes on any other one. */
  serve: AppMiddleware;
  /** The routes of this path, whatever their method. */
  at(path: string): Route[];
}

/** A route with its path as the router has compiled it, and its chain. */
interface Row {
  route: Route;
  layer: Router<AppState, AppExtra>['stack'][number];
  answer: AppMiddleware;
}

/**
 * The routes, each behind the middlewares that `chainOf` gives it. Letter case and a slash at the end of a path count. A path without
 * parameters comes before those that have some, which are tried in the order of the table.
 *
 * The router compiles the paths and reads their parameters. Requests do not pass through it: it would try every path and put a chain
 * together for each request, and short polls would be a sixth slower (docs/BENCHMARKS.md, record 60).
 */
export function createRouteTable(
  routes: readonly Route[],
  chainOf: (route: Route) => readonly AppMiddleware[],
): RouteTable {
  const router = new Router<AppState, AppExtra>({ sensitive: true, strict: true });
  const rows = routes.map((route): Row => {
    const answer = compose<AppContext>([...chainOf(route)]) as AppMiddleware;
    return { route, answer, layer: router.register(route.path, [route.method], answer) as Row['layer'] };
  });
  const templates = rows.filter(hasParameters);
  const plainAt = Map.groupBy(
    rows.filter((row) => !hasParameters(row)),
    ({ route }) => route.path,
  );
  return {
    serve(ctx, next) {
      const { path, method } = ctx;
      const isFor = ({ layer }: Row): boolean => layer.methods.includes(method);
      const row = plainAt.get(path)?.find(isFor) ?? templates.find((one) => isFor(one) && one.layer.match(path));
      if (!row) return next();
      ctx.params = row.layer.params(path, row.layer.captures(path));
      return row.answer(ctx, next);
    },
    at: (path) => rows.filter((row) => row.layer.match(path)).map(({ route }) => route),
  };
}

const hasParameters = ({ route }: Row): boolean => /[:*{\\]/.test(route.path);
