import compose from 'koa-compose';
import { match } from 'path-to-regexp';
import type { AppContext, AppMiddleware } from './context.ts';
import type { Route } from './route.ts';

export interface RouteTable {
  /** Answers a request whose method and path a route has, and passes on any other one. */
  serve: AppMiddleware;
  /** The routes of this path, whatever their method. */
  at(path: string): Route[];
}

/** The routes of one path. */
interface PathRoutes {
  routes: readonly Route[];
  /** By method, HEAD as GET. */
  answers: ReadonlyMap<string, AppMiddleware>;
  /** The decoded parameters of a path, or null if it is another one. */
  read: (path: string) => Record<string, string> | null;
}

/**
 * The routes with the middlewares that `chainOf` gives each of them. Letter case and a slash at the end of a path count. A path without
 * parameters comes before those that have some, which are tried in the order of the table.
 *
 * A chain is put together once. To do so for each request, and to try every template, takes a tenth of the time of a short answer.
 */
export function createRouteTable(
  routes: readonly Route[],
  chainOf: (route: Route) => readonly AppMiddleware[],
): RouteTable {
  const plain = new Map<string, PathRoutes>();
  const templates: PathRoutes[] = [];
  for (const [path, own] of Map.groupBy(routes, (route) => route.path)) {
    const answers = new Map(own.map((route) => [route.method as string, compose([...chainOf(route)])]));
    const get = answers.get('GET');
    if (get) answers.set('HEAD', get);
    const hasParameters = /[:*{\\]/.test(path);
    const one = { routes: own, answers, read: hasParameters ? readerOf(path) : () => ({}) };
    if (hasParameters) templates.push(one);
    else plain.set(path, one);
  }

  const find = ({ path, method }: AppContext) => {
    const known = plain.get(path)?.answers.get(method);
    if (known) return { answer: known, params: {} };
    for (const { answers, read } of templates) {
      const answer = answers.get(method);
      const params = answer && read(path);
      if (params) return { answer, params };
    }
    return null;
  };
  return {
    serve: (ctx, next) => {
      const found = find(ctx);
      if (!found) return next();
      ctx.params = found.params;
      return found.answer(ctx, next);
    },
    at(path) {
      const matching = templates.filter(({ read }) => read(path) !== null);
      return [plain.get(path) ?? [], matching].flat().flatMap(({ routes: own }) => own);
    },
  };
}

function readerOf(template: string): PathRoutes['read'] {
  const matches = match<Record<string, string>>(template, { sensitive: true, trailing: false, decode });
  return (path) => {
    const found = matches(path);
    return found ? found.params : null;
  };
}

/** A part of a path that is no valid encoding stays as it is, and names nothing. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
