import type { SpendRow } from '../../api/admin-types.ts';
import { sortedRows } from './usage-rows.tsx';
import { failedOf, succeededOf, type Group, type View } from './usage-view.ts';

/** What each group is in the table for spreadsheets: ids and names. */
const membersOf: Record<Group, readonly (keyof SpendRow)[]> = {
  day: ['day'],
  hour: ['hour'],
  project: ['project_id', 'project_name'],
  model: ['model'],
  key: ['key_id', 'key_name'],
  channel: ['channel_id', 'channel'],
  type: ['type'],
};

/** As the page counts them. */
const countOf: Partial<Record<string, (row: SpendRow) => number>> = { succeeded: succeededOf, failed: failedOf };

/** The name of the file: with the zone of its days, or UTC if it has none. */
export const usageCsvName = ({ from, to, zone }: View): string =>
  `tollgate-usage-${[from, to, ...(zone === 'UTC' ? [] : [zone.replaceAll('/', '-')])].join('-')}.csv`;

/** The rows that the page shows, in its order. */
export function usageCsv(view: View, rows: readonly SpendRow[]): (string | number)[][] {
  const members = view.rows.flatMap((group) => membersOf[group]);
  const headings = members.map((name) =>
    (name === 'day' || name === 'hour') && view.zone !== 'UTC' ? `${name} (${view.zone})` : name,
  );
  const counts = ['requests', 'succeeded', 'failed', 'refused', 'left', 'credits'] as const;
  const tokens = [
    'input_tokens',
    'output_tokens',
    'cached_input_tokens',
    'cache_write_tokens',
    'cache_write_1h_tokens',
    'reasoning_tokens',
  ] as const;
  return [
    [...headings, ...counts, 'cost_usd', 'unknown_costs', 'margin_usd', ...tokens],
    ...sortedRows(view, rows).map((row) => [
      ...members.map((name) => String(row[name] ?? '')),
      ...counts.map((name) => countOf[name]?.(row) ?? row[name]),
      row.cost_micro_usd / 1e6,
      row.unknown_costs,
      row.margin_micro_usd / 1e6,
      ...tokens.map((name) => row[name]),
    ]),
  ];
}
