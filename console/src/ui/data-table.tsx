import { Button, Card, Checkbox, Group, NativeSelect, Stack, Table } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import {
  createSortedRowModel,
  rowSortingFeature,
  sortFns,
  tableFeatures,
  useTable,
  type Cell,
  type ColumnDef,
  type Header,
  type ReactTable,
  type Row,
  type RowData,
} from '@tanstack/react-table';
import type { ReactNode } from 'react';
import { Announced } from './page.tsx';
import { phone } from './theme.ts';

const features = tableFeatures({ rowSortingFeature, sortedRowModel: createSortedRowModel(), sortFns });
type Features = typeof features;

export type Columns<T extends RowData> = ColumnDef<Features, T>[];

interface DataTableProps<T extends RowData> {
  /** What the rows are, for screen readers. */
  label: string;
  rows: T[];
  columns: Columns<T>;
  /** Shown instead of the table when there are no rows. */
  empty: ReactNode;
  rowId: (row: T) => string;
  /** Present while there may be more rows, also if there are none yet. */
  more?: { load: () => void; loading: boolean } | undefined;
  /** Present if the rows are a part of a list: then the server sorts all of it. */
  order?: ServerOrder | undefined;
  /** Present if several rows can be chosen, to do something with all of them. */
  choice?: RowChoice | undefined;
}

export interface ServerOrder {
  /** A column of the admin API, with `-` before it for the largest first; undefined for the usual order. */
  sort: string | undefined;
  onSort: (sort: string | undefined) => void;
  /** The columns of the admin API by the ids of the table's columns. Another column cannot be sorted by. */
  columns: Readonly<Record<string, string>>;
}

export interface RowChoice {
  chosen: ReadonlySet<string>;
  onChange: (chosen: ReadonlySet<string>) => void;
}

/**
 * A table that its columns sort. On a phone each row is a card, because a table of that width cannot be read. Rows and cells are plain
 * elements, because a list has hundreds of them.
 */
export function DataTable<T extends RowData>(props: DataTableProps<T>) {
  const { label, rows, columns, empty, rowId, more, order, choice } = props;
  const isPhone = useMediaQuery(phone, false, { getInitialValueInEffect: false });
  const table = useTable({ features, data: rows, columns, getRowId: rowId });
  const shown = order ? table.getPreSortedRowModel().rows : table.getRowModel().rows;
  const sorters = sortersOf(table, order);
  return (
    <Stack gap="sm">
      <Announced>{`${label}: ${rows.length === 1 ? '1 row' : `${rows.length} rows`}${more ? ', and more' : ''}`}</Announced>
      {rows.length === 0 ? (
        <Card withBorder>{empty}</Card>
      ) : isPhone ? (
        <>
          <SortSelect sorters={sorters} />
          <Stack gap={6} role="list" aria-label={label}>
            {shown.map((row) => (
              <RowCard key={row.id} row={row} choice={choice} />
            ))}
          </Stack>
        </>
      ) : (
        <Card withBorder padding={0}>
          <div className="scroller" tabIndex={0} role="region" aria-label={label}>
            <Table className="rows">
              <thead>
                {table.getHeaderGroups().map((group) => (
                  <tr key={group.id}>
                    {choice && (
                      <th className="selects">
                        <ChooseAll ids={shown.map(({ id }) => id)} choice={choice} />
                      </th>
                    )}
                    {group.headers.map((header) => (
                      <HeaderCell
                        key={header.id}
                        header={header}
                        table={table}
                        sorter={sorters.get(header.column.id)}
                      />
                    ))}
                  </tr>
                ))}
              </thead>
              <tbody>
                {shown.map((row) => (
                  <tr key={row.id}>
                    {choice && (
                      <td className="selects">
                        <ChooseRow id={row.id} choice={choice} />
                      </td>
                    )}
                    {row.getAllCells().map((cell) => (
                      <td key={cell.id} className={classOf(cell.column.columnDef)}>
                        {contentOf(cell)}
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </Table>
          </div>
        </Card>
      )}
      {more && (
        <Group justify="center">
          <Button variant="default" onClick={more.load} loading={more.loading}>
            Show more
          </Button>
        </Group>
      )}
    </Stack>
  );
}

/** How a column is sorted now, and what sorts it. */
interface Sorter {
  name: string;
  sorted: 'asc' | 'desc' | false;
  by: (direction: 'asc' | 'desc' | false) => void;
}

/** The columns that can be sorted by, by their ids. */
function sortersOf<T extends RowData>(
  table: ReactTable<Features, T>,
  order: ServerOrder | undefined,
): Map<string, Sorter> {
  const headers = table.getHeaderGroups().flatMap((group) => group.headers);
  return new Map(
    headers.flatMap(({ column }): [string, Sorter][] => {
      const { header } = column.columnDef;
      const name = typeof header === 'string' ? header : column.id;
      if (!order)
        return column.getCanSort()
          ? [[column.id, { name, sorted: column.getIsSorted(), by: (to) => sortBy(table, column.id, to) }]]
          : [];
      const server = order.columns[column.id];
      if (server === undefined) return [];
      const sorted = order.sort === server ? 'asc' : order.sort === `-${server}` ? 'desc' : false;
      const by: Sorter['by'] = (to) => order.onSort(to === false ? undefined : to === 'asc' ? server : `-${server}`);
      return [[column.id, { name, sorted, by }]];
    }),
  );
}

const sortBy = <T extends RowData>(table: ReactTable<Features, T>, id: string, to: 'asc' | 'desc' | false): void =>
  table.setSorting(to === false ? [] : [{ id, desc: to === 'desc' }]);

/** Numbers and times are of interest from their largest on. */
const nextDirection = (sorted: Sorter['sorted'], isNumeric: boolean): Sorter['sorted'] => {
  const [first, second] = isNumeric ? (['desc', 'asc'] as const) : (['asc', 'desc'] as const);
  return sorted === false ? first : sorted === first ? second : false;
};

function HeaderCell<T extends RowData>({
  header,
  table,
  sorter,
}: {
  header: Header<Features, T>;
  table: ReactTable<Features, T>;
  sorter: Sorter | undefined;
}) {
  const { column } = header;
  const content = <table.FlexRender header={header} />;
  const sorted = sorter?.sorted ?? false;
  const arrow = { asc: ' ↑', desc: ' ↓', none: '' }[sorted === false ? 'none' : sorted];
  const align = classOf(column.columnDef);
  return (
    <th className={align} aria-sort={sorted === false ? undefined : sorted === 'asc' ? 'ascending' : 'descending'}>
      {sorter ? (
        <button type="button" className="sorter" onClick={() => sorter.by(nextDirection(sorted, align === 'numeric'))}>
          {content}
          {arrow}
        </button>
      ) : (
        content
      )}
    </th>
  );
}

/** The order of cards, which have no headings to press. */
function SortSelect({ sorters }: { sorters: ReadonlyMap<string, Sorter> }) {
  if (sorters.size === 0) return null;
  const current = [...sorters].find(([, { sorted }]) => sorted !== false);
  const choose = (value: string): void => {
    const [id = '', direction] = value.split(' ');
    if (id === '') current?.[1].by(false);
    else sorters.get(id)?.by(direction === 'desc' ? 'desc' : 'asc');
  };
  return (
    <NativeSelect
      label="Sort by"
      size="sm"
      value={current ? `${current[0]} ${current[1].sorted || 'asc'}` : ''}
      onChange={(event) => choose(event.currentTarget.value)}
      data={[
        { value: '', label: 'The usual order' },
        ...[...sorters].flatMap(([id, { name }]) => [
          { value: `${id} asc`, label: `${name}, rising` },
          { value: `${id} desc`, label: `${name}, falling` },
        ]),
      ]}
    />
  );
}

function ChooseAll({ ids, choice: { chosen, onChange } }: { ids: string[]; choice: RowChoice }) {
  const count = ids.filter((id) => chosen.has(id)).length;
  return (
    <Checkbox
      size="xs"
      aria-label="Select all rows that are shown"
      checked={count > 0 && count === ids.length}
      indeterminate={count > 0 && count < ids.length}
      onChange={() => onChange(new Set(count === ids.length ? [] : ids))}
    />
  );
}

function ChooseRow({ id, choice: { chosen, onChange } }: { id: string; choice: RowChoice }) {
  const toggled = (): Set<string> =>
    chosen.has(id) ? new Set([...chosen].filter((one) => one !== id)) : new Set([...chosen, id]);
  return (
    <Checkbox size="xs" aria-label={`Select ${id}`} checked={chosen.has(id)} onChange={() => onChange(toggled())} />
  );
}

function RowCard<T extends RowData>({ row, choice }: { row: Row<Features, T>; choice: RowChoice | undefined }) {
  return (
    <Card withBorder padding="xs" role="listitem" className="row-card">
      {choice && (
        <div className="selects">
          <ChooseRow id={row.id} choice={choice} />
        </div>
      )}
      {row.getAllCells().map((cell) => {
        const { header } = cell.column.columnDef;
        return (
          <div key={cell.id}>
            {typeof header === 'string' && header !== '' && <span className="row-card-name">{header}</span>}
            <div className="row-card-value">{contentOf(cell)}</div>
          </div>
        );
      })}
    </Card>
  );
}

/**
 * Calls what shows a cell. As a component, which is how the table would mount it, a new list of columns would unmount every cell: an open menu
 * would close, and the focus would be lost.
 */
function contentOf<T extends RowData>(cell: Cell<Features, T, unknown>): ReactNode {
  const show = cell.column.columnDef.cell;
  return typeof show === 'function' ? (show(cell.getContext()) as ReactNode) : show;
}

const classOf = (column: { meta?: unknown }): string | undefined =>
  column.meta === numeric.meta ? 'numeric' : undefined;

/** Spread into a column of numbers, which are read at their right end. */
export const numeric = { meta: { align: 'right' } };

/** A column of amounts. `show` is how each reads. */
export const figure = <T extends RowData>(
  id: string,
  header: string,
  { of, show }: { of: (row: T) => number; show: (amount: number, row: T) => string },
): Columns<T>[number] => ({
  id,
  header,
  accessorFn: of,
  cell: ({ row: { original } }) => show(of(original), original),
  ...numeric,
});
