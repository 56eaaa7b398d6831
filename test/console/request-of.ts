import { allActions } from '../../src/admin/table.ts';

/** What a browser sends for an action, such as `POST /keys/key_1/rotate`. */
export function requestOf(name: string): RegExp {
  const route = allActions().find((each) => each.name === name)?.action.route;
  if (!route || 'local' in route) throw new Error(`${name} is no action with a route`);
  return new RegExp(`^${route.method} ${route.path.replace(/:\w+/g, '[^/]+')}$`);
}
