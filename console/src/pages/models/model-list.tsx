import { Alert, Button, Group, Skeleton, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { catalogQuery } from '../../api/queries.ts';
import { useMay } from '../../api/session.ts';
import type { CatalogEntry } from '../../api/admin-types.ts';
import { DataTable, numeric, type Columns } from '../../ui/data-table.tsx';
import { ChoiceFilter } from '../../ui/filters.tsx';
import { percent } from '../../ui/format.ts';
import { Empty, Loaded, Page } from '../../ui/page.tsx';
import { useListView } from '../../ui/use-list-view.ts';
import { Status } from '../../ui/values.tsx';
import { ApplyCatalog } from './apply-catalog.tsx';
import { modelState } from './model-state.ts';
import { priceOf, useMargins, worstShare, type MarginsByModel } from './margins.ts';
import { priceLines } from './prices.tsx';
import { PageLink } from '../../ui/links.tsx';

const types = [
  { value: 'image', label: 'Pictures' },
  { value: 'video', label: 'Videos' },
  { value: 'chat', label: 'Chat' },
];

/** The catalog: what each model costs clients and what it earns. */
export default function ModelList() {
  const catalog = useQuery(catalogQuery);
  const search = useSearch({ from: '/models' });
  const { type, state } = search;
  const { filter } = useListView('/models', search, {});
  const mayApply = useMay('operator');
  const [applying, setApplying] = useState(false);
  const entries = catalog.data?.data ?? [];
  const margins = useMargins(entries);
  const losing = entries.filter(({ id }) => (worstShare(margins.data?.get(id)) ?? 0) < 0);
  return (
    <Page
      title="Models"
      about="What clients pay for each model, and the smallest margin among all of its requests."
      actions={
        mayApply && (
          <Button variant="default" onClick={() => setApplying(true)}>
            Apply a catalog
          </Button>
        )
      }
    >
      {applying && <ApplyCatalog onClose={() => setApplying(false)} />}
      <Group>
        <ChoiceFilter label="Type" value={type} onChange={filter('type')} options={types} />
        <ChoiceFilter
          label="State"
          value={state}
          onChange={filter('state')}
          options={[...new Set(entries.map(modelState))].sort()}
        />
      </Group>
      {losing.length > 0 && (
        <Alert
          color="orange"
          title={`${losing.length} ${losing.length === 1 ? 'model has' : 'models have'} requests that cost more than they earn`}
        >
          {losing.map(({ display_name: name }) => name).join(', ')}. Open the model to see which requests, and change
          its price.
        </Alert>
      )}
      <Loaded of={catalog}>
        {({ data }) => (
          <DataTable
            label="Models"
            rows={data.filter(
              (entry) =>
                (type === undefined || entry.type === type) && (state === undefined || modelState(entry) === state),
            )}
            columns={columnsOf(margins)}
            rowId={(row) => row.id}
            empty={
              <Empty title="The catalog is empty">
                {mayApply ? 'Apply the files of a catalog.' : 'An operator can apply one.'}
              </Empty>
            }
          />
        )}
      </Loaded>
    </Page>
  );
}

const columnsOf = ({
  data: margins,
  isPending,
}: {
  data: MarginsByModel | undefined;
  isPending: boolean;
}): Columns<CatalogEntry> => [
  {
    accessorKey: 'display_name',
    header: 'Model',
    cell: ({ row: { original: model } }) => (
      <PageLink to="/models/$modelId" params={{ modelId: model.id }} fw={500}>
        {model.display_name}
      </PageLink>
    ),
  },
  { accessorKey: 'owned_by', header: 'Vendor' },
  {
    accessorKey: 'type',
    header: 'Type',
    cell: ({ row: { original } }) => types.find(({ value }) => value === original.type)?.label,
  },
  {
    id: 'offered',
    header: 'Status',
    accessorFn: modelState,
    cell: ({ row: { original } }) => <Status of={modelState(original)} />,
  },
  {
    id: 'price',
    header: 'Credits',
    enableSorting: false,
    cell: ({ row: { original } }) => <span title={priceLines(original).join('\n')}>{priceOf(original)}</span>,
  },
  {
    id: 'margin',
    header: 'Smallest margin',
    accessorFn: ({ id }) => worstShare(margins?.get(id)) ?? Infinity,
    cell: ({ row: { original } }) => {
      if (isPending) return <Skeleton h={12} w={48} ml="auto" my={4} />;
      const share = worstShare(margins?.get(original.id));
      if (share === null) return 'Unknown';
      return (
        <Text span inherit {...(share < 0 && { c: 'red', fw: 600 })}>
          {percent(share)}
        </Text>
      );
    },
    ...numeric,
  },
];
