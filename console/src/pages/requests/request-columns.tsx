import { Text } from '@mantine/core';
import type { RequestRow } from '../../api/admin-types.ts';
import { numeric, type Columns } from '../../ui/data-table.tsx';
import { cost, creditsCell, milliseconds, number, words } from '../../ui/format.ts';
import { Owner, ResourceLink, ResourceLinks } from '../../ui/links.tsx';
import { Status, When } from '../../ui/values.tsx';
import { outcomeName } from './outcomes.ts';

/** What was charged, without what was given back later. A refund gives back what was held, and an adopted result may be charged after it. */
const paidFor = ({ outcome, credits }: RequestRow): number =>
  outcome === 'refunded' ? credits.charged : credits.charged - credits.refunded;

/** The columns of requests of any type. */
export const requestColumns: Columns<RequestRow> = [
  {
    accessorKey: 'request_id',
    header: 'Request',
    enableSorting: false,
    cell: ({ row: { original } }) => <ResourceLink of="request" id={original.request_id} short />,
  },
  { id: 'type', header: 'Type', accessorFn: ({ type }) => words(type ?? 'media') },
  {
    accessorKey: 'model',
    header: 'Model',
    cell: ({ row: { original } }) => (
      <>
        <ResourceLink of="model" id={original.model} />
        {original.input_tokens !== null && original.output_tokens !== null && (
          <Text size="xs" c="dimmed">
            {`${number(original.input_tokens)} + ${number(original.output_tokens)} tokens`}
          </Text>
        )}
      </>
    ),
  },
  {
    id: 'project',
    header: 'Project',
    accessorFn: ({ project_name: name, project_id: id }) => name || id,
    cell: ({ row: { original } }) => <Owner of={original} />,
  },
  {
    accessorKey: 'outcome',
    header: 'Outcome',
    cell: ({ row: { original } }) => (
      <>
        <Status of={outcomeName(original)} />
        {original.reason && (
          <Text size="xs" c="dimmed">
            {words(original.reason)}
          </Text>
        )}
      </>
    ),
  },
  {
    id: 'channels',
    header: 'Channels',
    enableSorting: false,
    cell: ({ row: { original } }) => <ResourceLinks of="channel" ids={original.channels} none="Not known" />,
  },
  {
    id: 'credits',
    header: 'Credits',
    accessorFn: paidFor,
    cell: ({ row: { original } }) => (
      <>
        {creditsCell(paidFor(original))}
        <Text size="xs" c="dimmed">
          Cost: {cost(original.cost_micro_usd, original.unknown_costs)}
        </Text>
      </>
    ),
    ...numeric,
  },
  {
    id: 'took',
    header: 'Took',
    accessorFn: ({ took_ms: ms }) => ms ?? Infinity,
    cell: ({ row: { original } }) => (
      <span className="nowrap">{original.took_ms === null ? 'Not ended' : milliseconds(original.took_ms)}</span>
    ),
    ...numeric,
  },
  { accessorKey: 'created_at', header: 'Began', cell: ({ row: { original } }) => <When at={original.created_at} /> },
];

/** The columns of the admin API by which the list is sorted. */
export const requestSortColumns = {
  model: 'model',
  project: 'project_name',
  outcome: 'outcome',
  credits: 'credits',
  took: 'took_ms',
  created_at: 'created_at',
};
