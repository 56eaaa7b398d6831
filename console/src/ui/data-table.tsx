import { Button, Card, Group, Stack, Table } from '@mantine/core';
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
}

/**
 * A table that its columns sort. On a phone each row is a card, because a table of that width cannot be read. Rows and cells are plain
 * elements, because a list has hundreds of them.
 */
export function DataTable<T extends RowData>({ label, rows, columns, empty, rowId, more }: DataTableProps<T>) {
  const isPhone = useMediaQuery(phone, false, { getInitialValueInEffect: false });
  const table = useTable({ features, data: rows, columns, getRowId: rowId });
  const shown = table.getRowModel().rows;
  return (
    <Stack gap="sm">
      {rows.length === 0 ? (
        <Card withBorder>{empty}</Card>
      ) : isPhone ? (
        <Stack gap="xs" role="list" aria-label={label}>
          {shown.map((row) => (
            <RowCard key={row.id} row={row} />
          ))}
        </Stack>
      ) : (
        <Card withBorder padding={0}>
          <div className="scroller" tabIndex={0} role="region" aria-label={label}>
            <Table className="rows">
              <thead>
                {table.getHeaderGroups().map((group) => (
                  <tr key={group.id}>
                    {group.headers.map((header) => (
                      <HeaderCell key={header.id} header={header} table={table} />
                    ))}
                  </tr>
                ))}
              </thead>
              <tbody>
                {shown.map((row) => (
                  <tr key={row.id}>
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

function HeaderCell<T extends RowData>({
  header,
  table,
}: {
  header: Header<Features, T>;
  table: ReactTable<Features, T>;
}) {
  const { column } = header;
  const sorted = column.getIsSorted();
  const content = <table.FlexRender header={header} />;
  const arrow = { asc: ' ↑', desc: ' ↓', none: '' }[sorted === false ? 'none' : sorted];
  return (
    <th
      className={classOf(column.columnDef)}
      aria-sort={sorted === false ? undefined : sorted === 'asc' ? 'ascending' : 'descending'}
    >
      {column.getCanSort() ? (
        <button type="button" className="sorter" onClick={column.getToggleSortingHandler()}>
          {content}
          {arrow}
        </button>
      ) : (
        content
      )}
    </th>
  );
}

function RowCard<T extends RowData>({ row }: { row: Row<Features, T> }) {
  return (
    <Card withBorder padding="sm" role="listitem" className="row-card">
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
  { of, show }: { of: (row: T) => number; show: (amount: number) => string },
): Columns<T>[number] => ({
  id,
  header,
  accessorFn: of,
  cell: ({ row: { original } }) => show(of(original)),
  ...numeric,
});
