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
import {
  channelsQuery,
  keyQuery,
  listQuery,
  modelQuery,
  overviewQuery,
  planQuery,
  plansQuery,
  projectQuery,
  requestQuery,
  summaryQuery,
  taskQuery,
  tasksPerPage,
  thisMonth,
} from './api/queries.ts';
import { sessionQuery } from './api/session.ts';
import { NotFound } from './pages/not-found.tsx';
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

// As constants, because the compiler does not infer them where they stand beside a loader.
const range = ['created_after', 'created_before', 'sort'] as const;
const overviewSearch = texts('range');
const taskSearch = texts('status', 'type', 'model', 'project', 'key', 'unknown', ...range);
const requestSearch = texts(
  'type',
  'outcome',
  'reason',
  'model',
  'channel',
  'project',
  'key',
  'min_ms',
  'min_credits',
  ...range,
);
const deliverySearch = texts('state', 'project', 'task', 'host', ...range);
const auditSearch = texts('subject', 'by', 'action', ...range);
const projectsSearch = texts('status', 'plan', 'sort');
const projectSearch = texts('tab', 'sort', 'kind', 'created_after', 'created_before');
const scheduledJobSearch = texts('name', ...range);
const channelsSearch = texts('state', 'adapter');
const modelsSearch = texts('type', 'state', 'sort');
const summarySearch = texts('month');
const usageSearch = texts('range', 'from', 'to', 'tz', 'interval', 'by', 'measure', 'rows', 'project');

/** Begins to read what a page needs while its file is loaded. The page waits for it and shows its errors. */
const begin = ({ queryClient }: Context, read: (client: QueryClient) => unknown): void => {
  const begun = queryClient.fetchQuery(sessionQuery).then((session) => session !== null && read(queryClient));
  // The frame of the page shows why there is no session.
  begun.catch(() => undefined);
};

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
  createRoute({
    getParentRoute: () => root,
    path: '/overview',
    validateSearch: overviewSearch,
    loaderDeps: ({ search }) => search,
    loader: ({ context, deps }) => begin(context, (client) => client.prefetchQuery(overviewQuery(deps.range))),
    component: lazyRouteComponent(() => import('./pages/overview.tsx')),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/playground',
    validateSearch: texts('model', 'compare', 'project'),
    component: lazyRouteComponent(() => import('./pages/playground/playground.tsx')),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/tasks',
    validateSearch: taskSearch,
    loaderDeps: ({ search }) => search,
    loader: ({ context, deps }) =>
      begin(context, (client) => client.prefetchInfiniteQuery(listQuery('/tasks', deps, tasksPerPage))),
    component: lazyRouteComponent(() => import('./pages/tasks/task-list.tsx')),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/tasks/$taskId',
    loader: ({ context, params }) => begin(context, (client) => client.prefetchQuery(taskQuery(params.taskId))),
    component: lazyRouteComponent(() => import('./pages/tasks/task.tsx')),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/requests',
    validateSearch: requestSearch,
    loaderDeps: ({ search }) => search,
    loader: ({ context, deps }) =>
      begin(context, (client) => client.prefetchInfiniteQuery(listQuery('/requests', deps))),
    component: lazyRouteComponent(() => import('./pages/requests/request-list.tsx')),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/requests/$requestId',
    loader: ({ context, params }) => begin(context, (client) => client.prefetchQuery(requestQuery(params.requestId))),
    component: lazyRouteComponent(() => import('./pages/requests/request.tsx')),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/models',
    validateSearch: modelsSearch,
    loaderDeps: ({ search }) => search,
    loader: ({ context, deps }) => begin(context, (client) => client.prefetchInfiniteQuery(listQuery('/models', deps))),
    component: lazyRouteComponent(() => import('./pages/models/model-list.tsx')),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/models/$modelId',
    loader: ({ context, params }) =>
      begin(context, (client) => [
        client.prefetchQuery(modelQuery(params.modelId)),
        client.prefetchQuery(channelsQuery),
      ]),
    component: lazyRouteComponent(() => import('./pages/models/model.tsx')),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/plans',
    loader: ({ context }) => begin(context, (client) => client.prefetchQuery(plansQuery)),
    component: lazyRouteComponent(() => import('./pages/plans/plan-list.tsx')),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/plans/$planName',
    loader: ({ context, params }) => begin(context, (client) => client.prefetchQuery(planQuery(params.planName))),
    component: lazyRouteComponent(() => import('./pages/plans/plan.tsx')),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/channels',
    validateSearch: channelsSearch,
    loader: ({ context }) => begin(context, (client) => client.prefetchQuery(channelsQuery)),
    component: lazyRouteComponent(() => import('./pages/channels.tsx')),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/channels/$channelId',
    validateSearch: texts('hours'),
    loader: ({ context }) => begin(context, (client) => client.prefetchQuery(channelsQuery)),
    component: lazyRouteComponent(() => import('./pages/channel-details.tsx')),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/projects',
    validateSearch: projectsSearch,
    loaderDeps: ({ search }) => search,
    loader: ({ context, deps }) =>
      begin(context, (client) => client.prefetchInfiniteQuery(listQuery('/projects', deps))),
    component: lazyRouteComponent(() => import('./pages/projects/project-list.tsx')),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/projects/$projectId',
    validateSearch: projectSearch,
    loader: ({ context, params: { projectId } }) =>
      begin(context, (client) => [
        client.prefetchQuery(projectQuery(projectId)),
        client.prefetchInfiniteQuery(listQuery('/keys', { project: projectId })),
      ]),
    component: lazyRouteComponent(() => import('./pages/projects/project.tsx')),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/keys/$keyId',
    loader: ({ context, params }) => begin(context, (client) => client.prefetchQuery(keyQuery(params.keyId))),
    component: lazyRouteComponent(() => import('./pages/keys/key.tsx')),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/deliveries',
    validateSearch: deliverySearch,
    loaderDeps: ({ search }) => search,
    loader: ({ context, deps }) =>
      begin(context, (client) => client.prefetchInfiniteQuery(listQuery('/deliveries', deps))),
    component: lazyRouteComponent(() => import('./pages/deliveries.tsx')),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/audit',
    validateSearch: auditSearch,
    loaderDeps: ({ search }) => search,
    loader: ({ context, deps }) => begin(context, (client) => client.prefetchInfiniteQuery(listQuery('/audit', deps))),
    component: lazyRouteComponent(() => import('./pages/audit.tsx')),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/jobs',
    validateSearch: scheduledJobSearch,
    loaderDeps: ({ search }) => search,
    loader: ({ context, deps }) => begin(context, (client) => client.prefetchInfiniteQuery(listQuery('/jobs', deps))),
    component: lazyRouteComponent(() => import('./pages/scheduled-jobs.tsx')),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/usage',
    validateSearch: usageSearch,
    component: lazyRouteComponent(() => import('./pages/usage/usage.tsx')),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/access',
    component: lazyRouteComponent(() => import('./pages/access/access.tsx')),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/summaries',
    validateSearch: summarySearch,
    loaderDeps: ({ search }) => search,
    loader: ({ context, deps: { month = thisMonth() } }) =>
      begin(context, (client) => client.prefetchQuery(summaryQuery(month))),
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
    defaultNotFoundComponent: NotFound,
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
