import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { addressOf, type Answer, type PathOf } from './admin.ts';
import { sendJson } from './request.ts';

/** What every page of a list has. */
interface ListPage {
  next_cursor: string | null;
}

type ListPath = {
  [Path in PathOf<'get'>]: Answer<'get', Path> extends ListPage ? Path : never;
}[PathOf<'get'>];
type RowOf<Path extends ListPath> = Answer<'get', Path>['data'][number];

/**
 * The rows of a list of the admin API, page by page. `filters` with empty values are left out. Their values come from the address of the page,
 * so the server checks them.
 */
export function useList<Path extends ListPath>(
  path: Path,
  filters: Readonly<Record<string, string | undefined>> = {},
  limit = 50,
) {
  const list = useInfiniteQuery({
    queryKey: [path, filters, limit],
    queryFn: ({ pageParam, signal }) =>
      sendJson<Answer<'get', Path> & ListPage>(addressOf(path, { ...filters, limit, after: pageParam }), { signal }),
    initialPageParam: '',
    getNextPageParam: (page: ListPage) => page.next_cursor,
    placeholderData: keepPreviousData,
  });
  return {
    data: list.data?.pages.flatMap(({ data }): RowOf<Path>[] => data),
    error: list.error,
    refetch: list.refetch,
    isFetching: list.isFetching,
    more: list.hasNextPage ? { load: () => void list.fetchNextPage(), loading: list.isFetchingNextPage } : undefined,
  };
}
