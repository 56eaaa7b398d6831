import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  parseSearchWith,
  stringifySearchWith,
  redirect,
} from '@tanstack/react-router';
import { Shell } from './shell.tsx';
import { ErrorAlert, Loading } from './ui/page.tsx';

interface Context {
  queryClient: QueryClient;
}

const root = createRootRouteWithContext<Context>()({ component: Shell });

/** Texts of the address, such as the filters of a list. Everything else in it is ignored. */
const texts =
  <Name extends string>(...names: Name[]) =>
  (search: Record<string, unknown>): Partial<Record<Name, string>> =>
    Object.fromEntries(
      names.flatMap((name) => {
        const value = search[name];
        // The router reads numbers and truths where the address has their words.
        return ['string', 'number', 'boolean'].includes(typeof value) ? [[name, String(value)]] : [];
      }),
    ) as Partial<Record<Name, string>>;

const route = <Path extends string>(path: Path, component: Parameters<typeof createRoute>[0]['component']) =>
  createRoute({ getParentRoute: () => root, path, component });

/** Each page is a file of its own, which the browser loads when it is opened. */
const routes = [
  createRoute({
    getParentRoute: () => root,
    path: '/',
    beforeLoad: () => {
      // eslint-disable-next-line @typescript-eslint/only-throw-error -- the way of the router
      throw redirect({ to: '/overview' });
    },
  }),
  route(
    '/overview',
    lazyRouteComponent(() => import('./pages/overview.tsx')),
  ),
  createRoute({
    getParentRoute: () => root,
    path: '/playground',
    validateSearch: texts('model', 'project'),
    component: lazyRouteComponent(() => import('./pages/playground/playground.tsx')),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/tasks',
    validateSearch: texts('status', 'type', 'model', 'project', 'unknown'),
    component: lazyRouteComponent(() => import('./pages/tasks/task-list.tsx')),
  }),
  route(
    '/tasks/$taskId',
    lazyRouteComponent(() => import('./pages/tasks/task.tsx')),
  ),
  route(
    '/models',
    lazyRouteComponent(() => import('./pages/models/model-list.tsx')),
  ),
  route(
    '/models/$modelId',
    lazyRouteComponent(() => import('./pages/models/model.tsx')),
  ),
  route(
    '/channels',
    lazyRouteComponent(() => import('./pages/channels.tsx')),
  ),
  createRoute({
    getParentRoute: () => root,
    path: '/channels/$channelId',
    validateSearch: texts('hours'),
    component: lazyRouteComponent(() => import('./pages/channel.tsx')),
  }),
  route(
    '/projects',
    lazyRouteComponent(() => import('./pages/projects/project-list.tsx')),
  ),
  route(
    '/projects/$projectId',
    lazyRouteComponent(() => import('./pages/projects/project.tsx')),
  ),
  createRoute({
    getParentRoute: () => root,
    path: '/deliveries',
    validateSearch: texts('state', 'project', 'task'),
    component: lazyRouteComponent(() => import('./pages/deliveries.tsx')),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/audit',
    validateSearch: texts('subject', 'by', 'action'),
    component: lazyRouteComponent(() => import('./pages/audit.tsx')),
  }),
  route(
    '/jobs',
    lazyRouteComponent(() => import('./pages/jobs.tsx')),
  ),
  route(
    '/access',
    lazyRouteComponent(() => import('./pages/access/access.tsx')),
  ),
  createRoute({
    getParentRoute: () => root,
    path: '/summaries',
    validateSearch: texts('month'),
    component: lazyRouteComponent(() => import('./pages/summaries.tsx')),
  }),
];

export const createConsoleRouter = (queryClient: QueryClient) =>
  createRouter({
    routeTree: root.addChildren(routes),
    basepath: '/console',
    context: { queryClient },
    defaultPreload: 'intent',
    defaultPendingComponent: () => <Loading />,
    defaultErrorComponent: ({ error, reset }) => <ErrorAlert error={error} retry={reset} />,
    scrollRestoration: true,
    // Searches hold texts only, so they need no quotes in the address.
    parseSearch: parseSearchWith((text) => text),
    stringifySearch: stringifySearchWith(String),
  });

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>;
  }
}
