import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import type { Answer } from './admin.ts';
import { listQuery, type ListPath } from './queries.ts';

type RowOf<Path extends ListPath> = Answer<'get', Path>['data'][number];

/** The rows of a list, and how to load more. The arguments are those of `listQuery`. */
export function useList<Path extends ListPath>(...args: Parameters<typeof listQuery<Path>>) {
  const list = useInfiniteQuery({ ...listQuery(...args), placeholderData: keepPreviousData });
  return {
    /** The first page, with what it says about all rows. */
    first: list.data?.pages[0],
    data: list.data?.pages.flatMap(({ data }): RowOf<Path>[] => data),
    error: list.error,
    refetch: list.refetch,
    isFetching: list.isFetching,
    more: list.hasNextPage ? { load: () => void list.fetchNextPage(), loading: list.isFetchingNextPage } : undefined,
  };
}
