import { useNavigate } from '@tanstack/react-router';
import type { ServerOrder } from './data-table.tsx';

type Search = Partial<Record<string, string | undefined>>;

/**
 * How a list is filtered and sorted, which is in its address and in the history of the browser. `to` is the page, `search` what its address
 * has, and `columns` those of the admin API by the ids of the table's columns.
 */
export function useListView<Names extends Search>(
  to: string,
  search: Names,
  columns: Readonly<Record<string, string>>,
) {
  const navigate = useNavigate();
  const show = (changes: Search): void => void navigate({ to, search: { ...search, ...changes } });
  const { sort, ...filters } = search;
  const order: ServerOrder = { sort, onSort: (next) => show({ sort: next }), columns };
  return {
    show,
    /** Changes one filter. */
    filter: (name: keyof Names & string) => (value: string | undefined) => show({ [name]: value }),
    order,
    isFiltered: Object.values(filters).some(Boolean),
    showAll: (): void => void navigate({ to, search: {} }),
  };
}
