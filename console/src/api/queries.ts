import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { addressOf, read, type Answer, type PathOf } from './admin.ts';
import { sendJson } from './request.ts';

/** What the pages read first. The router begins with it while the file of a page is loaded, and the page then shows it. */

/** The ranges of the overview by the hours that its address has. */
const overviewRanges: Readonly<Partial<Record<string, 'hour' | 'day' | 'week'>>> = {
  1: 'hour',
  24: 'day',
  168: 'week',
};

export const overviewQuery = (hours = '24') => {
  const range = overviewRanges[hours] ?? 'day';
  return queryOptions({ queryKey: ['overview', range], queryFn: () => read('/overview', { range }) });
};

/** All channels. One page that reads them leaves them to the next. */
export const channelsQuery = queryOptions({ queryKey: ['channels'], queryFn: () => read('/channels', {}) });

export const catalogQuery = queryOptions({ queryKey: ['catalog'], queryFn: () => read('/catalog', {}) });

/** The groups of the catalog. */
export const groupsQuery = queryOptions({
  queryKey: ['/models', 'groups'],
  queryFn: async () => (await read('/models', { limit: 1 })).groups,
});

export const modelQuery = (model: string) =>
  queryOptions({ queryKey: ['catalog', model], queryFn: () => read('/catalog/{model}', { model }) });

/** All plans. They are few. */
export const plansQuery = queryOptions({ queryKey: ['plans'], queryFn: () => read('/plans', {}) });

export const planQuery = (name: string) =>
  queryOptions({ queryKey: ['plans', name], queryFn: () => read('/plans/{name}', { name }) });

export const keyQuery = (id: string) =>
  queryOptions({ queryKey: ['key', id], queryFn: () => read('/keys/{id}', { id }) });

export const taskQuery = (id: string) =>
  queryOptions({ queryKey: ['task', id], queryFn: () => read('/tasks/{id}', { id }) });

export const chatQuery = (id: string) =>
  queryOptions({ queryKey: ['chat', id], queryFn: () => read('/chats/{id}', { id }) });

/** What a request was: by its id, or by that of the task that it created. */
export const requestQuery = (id: string) =>
  queryOptions({
    queryKey: ['request', id],
    queryFn: async () =>
      id.startsWith('task_')
        ? { kind: 'task' as const, task_id: id, answered: null }
        : read('/requests/{id}', { id: id.replace(answerPrefix, 'req_') }),
    staleTime: Infinity,
  });

/** Answers have the id of their request behind the prefix of their dialect. */
const answerPrefix = /^(?:chatcmpl-|msg_|resp_)/;

export const projectQuery = (project: string) =>
  queryOptions({
    queryKey: ['project', project],
    queryFn: async () => {
      const [account, about] = await Promise.all([
        read('/credits', { project }),
        read('/projects/{id}', { id: project }),
      ]);
      return { ...about, ...account };
    },
  });

/** `month`: `2026-11`. A month may have no summary, and neither a retry nor the page, after the router, should ask again then. */
export const summaryQuery = (month: string) =>
  queryOptions({
    queryKey: ['summary', month],
    queryFn: () => read('/summary', { month }),
    retry: false,
    retryOnMount: false,
  });

/** The current month (UTC). */
export const thisMonth = (): string => new Date().toISOString().slice(0, 7);

/** What every page of a list has. */
interface ListPage {
  next_cursor: string | null;
}

export type ListPath = {
  [Path in PathOf<'get'>]: Answer<'get', Path> extends ListPage ? Path : never;
}[PathOf<'get'>];

/**
 * A list of the admin API, page by page. `filters` with empty values are left out. Their values come from the address of the page, so the
 * server checks them.
 */
export const listQuery = <Path extends ListPath>(
  path: Path,
  filters: Readonly<Record<string, string | undefined>> = {},
  limit = 50,
) =>
  infiniteQueryOptions({
    queryKey: [path, filters, limit],
    queryFn: ({ pageParam, signal }) =>
      sendJson<Answer<'get', Path> & ListPage>(addressOf(path, { ...filters, limit, after: pageParam }), { signal }),
    initialPageParam: '',
    getNextPageParam: (page: ListPage) => page.next_cursor,
  });

/** Tasks have pictures, so the pages of their list are short. */
export const tasksPerPage = 25;
