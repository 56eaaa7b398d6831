import { Button, Card, Group, ScrollArea, Stack, Table, Text, UnstyledButton } from '@mantine/core';
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
  /** Present while there are more rows. */
  more?: { load: () => void; loading: boolean } | undefined;
}

/** A table that its columns sort. On a phone each row is a card, because a table of that width cannot be read. */
export function DataTable<T extends RowData>({ label, rows, columns, empty, rowId, more }: DataTableProps<T>) {
  const isPhone = useMediaQuery(phone, false, { getInitialValueInEffect: false });
  const table = useTable({ features, data: rows, columns, getRowId: rowId });
  if (rows.length === 0) return <Card withBorder>{empty}</Card>;
  const shown = table.getRowModel().rows;
  return (
    <Stack gap="sm">
      {isPhone ? (
        <Stack gap="xs" role="list" aria-label={label}>
          {shown.map((row) => (
            <RowCard key={row.id} row={row} />
          ))}
        </Stack>
      ) : (
        <Card withBorder padding={0}>
          <ScrollArea type="auto" viewportProps={{ tabIndex: 0, 'aria-label': label, role: 'region' }}>
            <Table verticalSpacing="sm" horizontalSpacing="md" highlightOnHover>
              <Table.Thead>
                {table.getHeaderGroups().map((group) => (
                  <Table.Tr key={group.id}>
                    {group.headers.map((header) => (
                      <HeaderCell key={header.id} header={header} table={table} />
                    ))}
                  </Table.Tr>
                ))}
              </Table.Thead>
              <Table.Tbody>
                {shown.map((row) => (
                  <Table.Tr key={row.id}>
                    {row.getAllCells().map((cell) => (
                      <Table.Td key={cell.id} ta={alignOf(cell.column.columnDef)}>
                        {contentOf(cell)}
                      </Table.Td>
                    ))}
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </ScrollArea>
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
    <Table.Th
      ta={alignOf(column.columnDef)}
      aria-sort={sorted === false ? undefined : sorted === 'asc' ? 'ascending' : 'descending'}
    >
      {column.getCanSort() ? (
        <UnstyledButton fz="sm" fw={600} ta={alignOf(column.columnDef)} onClick={column.getToggleSortingHandler()}>
          {content}
          {arrow}
        </UnstyledButton>
      ) : (
        content
      )}
    </Table.Th>
  );
}

function RowCard<T extends RowData>({ row }: { row: Row<Features, T> }) {
  return (
    <Card withBorder padding="sm" role="listitem">
      <Stack gap={6}>
        {row.getAllCells().map((cell) => {
          const { header } = cell.column.columnDef;
          return (
            <Group key={cell.id} justify="space-between" gap="md" wrap="nowrap" align="flex-start">
              {typeof header === 'string' && header !== '' && (
                <Text size="sm" c="dimmed" flex="0 0 auto">
                  {header}
                </Text>
              )}
              <Text component="div" size="sm" ta="right" ml="auto" miw={0} className="breakable">
                {contentOf(cell)}
              </Text>
            </Group>
          );
        })}
      </Stack>
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

const alignOf = (column: { meta?: unknown }): 'right' | undefined =>
  column.meta === numeric.meta ? 'right' : undefined;

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
