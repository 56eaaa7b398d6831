import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation } from '@tanstack/react-query';
import { addressOf } from '../api/admin.ts';
import type { ListPath } from '../api/queries.ts';
import { sendJson } from '../api/request.ts';
import { saveCsv } from './csv.ts';
import { number } from './format.ts';

interface ListPage {
  data: Record<string, unknown>[];
  next_cursor: string | null;
}

const pageRows = 1_000;
const rowsMax = 100_000;

/** Saves all rows of a list as it is filtered and sorted, not only those that are shown. Members of an object are columns of their own, and times are in UTC. */
export function CsvButton({
  path,
  filters,
  name,
}: {
  path: ListPath;
  filters: Readonly<Record<string, string | undefined>>;
  name: string;
}) {
  const save = useMutation({
    mutationFn: async () => {
      const rows = await readAll(path, filters);
      const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
      const day = new Date().toISOString().slice(0, 10);
      saveCsv(`tollgate-${name}-${day}.csv`, [
        columns,
        ...rows.map((row) => columns.map((column) => row[column] ?? null)),
      ]);
      return rows.length;
    },
    onSuccess: (count) => {
      const isCut = count >= rowsMax;
      const message = `${number(count)} rows are saved${isCut ? '. There are more: choose a shorter time' : ''}.`;
      notifications.show({ message, color: isCut ? 'orange' : 'teal' });
    },
    onError: ({ message }) => notifications.show({ message, color: 'red' }),
  });
  return (
    <Button variant="default" onClick={() => save.mutate()} loading={save.isPending}>
      Download CSV
    </Button>
  );
}

type Cell = string | number | null;

async function readAll(
  path: string,
  filters: Readonly<Record<string, string | undefined>>,
): Promise<Record<string, Cell>[]> {
  const rows: Record<string, Cell>[] = [];
  for (let after = ''; rows.length < rowsMax;) {
    const page = await sendJson<ListPage>(addressOf(path, { ...filters, limit: pageRows, after }));
    rows.push(...page.data.map((row) => flat(row)));
    if (page.next_cursor === null) break;
    after = page.next_cursor;
  }
  return rows;
}

function flat(row: Record<string, unknown>, within = ''): Record<string, Cell> {
  return Object.fromEntries(
    Object.entries(row).flatMap(([name, value]): [string, Cell][] => {
      const column = `${within}${name}`;
      if (typeof value === 'object' && value !== null && !Array.isArray(value) && within === '' && !isFree.has(name))
        return Object.entries(flat(value as Record<string, unknown>, `${column}.`));
      const isTime = /(^|_)at$/.test(name) && typeof value === 'number';
      return [[column, isTime ? new Date(value * 1_000).toISOString() : cellOf(value)]];
    }),
  );
}

/** Objects whose members differ from row to row. */
const isFree = new Set(['before', 'after', 'detail', 'summary', 'metadata']);

function cellOf(value: unknown): Cell {
  if (value === null || value === undefined) return null;
  if (typeof value === 'number' || typeof value === 'string') return value;
  return typeof value === 'boolean' ? String(value) : JSON.stringify(value);
}
