import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { read } from './admin.ts';
import { query } from './request.ts';
import type { List } from './types.ts';

/** The rows of a list of the admin API, page by page. `filters` with empty values are left out. */
export function useList<T>(path: string, filters: Record<string, string | undefined> = {}, limit = 50) {
  const list = useInfiniteQuery({
    queryKey: [path, filters, limit],
    queryFn: ({ pageParam, signal }) =>
      read<List<T>>(`${path}${query({ ...filters, limit, after: pageParam })}`, signal),
    initialPageParam: '',
    getNextPageParam: (page) => (page.has_more ? page.next_cursor : null),
    placeholderData: keepPreviousData,
  });
  return {
    data: list.data?.pages.flatMap(({ data }) => data),
    error: list.error,
    refetch: list.refetch,
    isFetching: list.isFetching,
    more: list.hasNextPage ? { load: () => void list.fetchNextPage(), loading: list.isFetchingNextPage } : undefined,
  };
}
