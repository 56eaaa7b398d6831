import { Text } from '@mantine/core';
import { useState } from 'react';
import type { SpendRow } from '../../api/admin-types.ts';
import { DataTable, figure, numeric, type Columns } from '../../ui/data-table.tsx';
import { cost, creditsCell, margin, number } from '../../ui/format.ts';
import { ResourceLink } from '../../ui/links.tsx';
import { Empty } from '../../ui/page.tsx';
import { words } from '../../ui/format.ts';
import { amountOf, failedOf, nameIn, type Group, type View } from './usage-view.ts';

/** Rows that are drawn. Further ones are drawn when they are asked for. */
const shownAtFirst = 200;

/** The rows of the view, the largest first. As long as some are not drawn, the columns do not sort. */
export function UsageRows({ view, rows }: { view: View; rows: SpendRow[] }) {
  const [shown, setShown] = useState(shownAtFirst);
  const sorted = sortedRows(view, rows);
  const more = rows.length > shown ? { load: () => setShown(shown + shownAtFirst), loading: false } : undefined;
  return (
    <>
      {more && (
        <Text size="sm" c="dimmed">
          The first {number(shown)} of {number(rows.length)} rows. The CSV has all.
        </Text>
      )}
      <DataTable
        label={`Usage by ${view.rows.join(', ')}`}
        rows={sorted.slice(0, shown)}
        columns={columnsOf(view).map((column) => ({ ...column, enableSorting: more === undefined }))}
        rowId={(row) =>
          [row.hour ?? row.day, row.project_id, row.model, row.key_id, row.channel_id, row.type].join(' ')
        }
        empty={<Empty title="No request in this range" />}
        more={more}
      />
    </>
  );
}

/** The newest first if the rows have times, and then the largest by the measure. */
export const sortedRows = ({ measure }: View, rows: readonly SpendRow[]): SpendRow[] =>
  rows.toSorted(
    (a, b) =>
      (b.hour ?? b.day ?? '').localeCompare(a.hour ?? a.day ?? '') || amountOf[measure](b) - amountOf[measure](a),
  );

const columnsOf = ({ rows, interval, zone }: View): Columns<SpendRow> => [
  ...rows.map((group): Columns<SpendRow>[number] => ({
    id: group,
    header: group === interval ? `${words(group)} (${zone})` : words(group),
    accessorFn: (row) => nameIn(group, row),
    cell: ({ row: { original } }) => <Name group={group} row={original} />,
  })),
  figure('requests', 'Requests', { of: (row) => row.requests, show: number }),
  figure('failed', 'Failed', { of: (row) => failedOf(row), show: number }),
  figure('refused', 'Refused', { of: (row) => row.refused, show: number }),
  figure('left', 'Left', { of: (row) => row.left, show: number }),
  figure('credits', 'Credits', { of: (row) => row.credits, show: creditsCell }),
  {
    id: 'cost',
    header: 'Cost',
    accessorFn: (row) => row.cost_micro_usd,
    // At least so much, and how many are unknown: too long for one line beside all other figures.
    cell: ({ row: { original } }) => (
      <span className="wraps">{cost(original.cost_micro_usd, original.unknown_costs)}</span>
    ),
    ...numeric,
  },
  figure('margin', 'Margin', {
    of: (row) => row.margin_micro_usd,
    show: (micro, row) => margin(micro, row.unknown_costs),
  }),
  figure('input_tokens', 'Tokens in', { of: (row) => row.input_tokens, show: number }),
  figure('output_tokens', 'Tokens out', { of: (row) => row.output_tokens, show: number }),
];

/** The name of what a row is about, with a link to its page. */
function Name({ group, row }: { group: Group; row: SpendRow }) {
  const kind = group === 'project' || group === 'model' || group === 'key' || group === 'channel' ? group : null;
  const ids = { project: row.project_id, model: row.model, key: row.key_id, channel: row.channel && row.channel_id };
  return (
    <span className="nowrap">
      <ResourceLink of={kind} id={kind && ids[kind]} name={nameIn(group, row)} />
    </span>
  );
}
