import { Alert, Button, Group, Text } from '@mantine/core';
import { useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { useMay } from '../../api/session.ts';
import { useList } from '../../api/use-list.ts';
import type { Answer } from '../../api/admin.ts';
import type { ModelRow } from '../../api/admin-types.ts';
import { modelStates } from '../../../../src/domain/catalog/model-state.ts';
import { DataTable, numeric, type Columns } from '../../ui/data-table.tsx';
import { ChoiceFilter } from '../../ui/filters.tsx';
import { percent } from '../../ui/format.ts';
import { Empty, Loaded, Page } from '../../ui/page.tsx';
import { useListView } from '../../ui/use-list-view.ts';
import { Status } from '../../ui/values.tsx';
import { ApplyCatalog } from './apply-catalog.tsx';
import { pricedOfRow, ShortPrice } from './prices.tsx';
import { PageLink } from '../../ui/links.tsx';

const types = [
  { value: 'image', label: 'Pictures' },
  { value: 'video', label: 'Videos' },
  { value: 'chat', label: 'Chat' },
];

/** The catalog: what each model costs clients and what it earns. */
export default function ModelList() {
  const search = useSearch({ from: '/models' });
  const models = useList('/models', search);
  const { filter, order, isFiltered, showAll } = useListView('/models', search, sortColumns);
  const mayApply = useMay('operator');
  const [applying, setApplying] = useState(false);
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
      <Group gap="sm">
        <ChoiceFilter label="Type" value={search.type} onChange={filter('type')} options={types} />
        <ChoiceFilter label="State" value={search.state} onChange={filter('state')} options={modelStates} />
      </Group>
      <Losing models={models.first?.losing ?? []} />
      <Loaded of={models}>
        {(rows) => (
          <DataTable
            label="Models"
            rows={rows}
            columns={columns}
            rowId={(row) => row.id}
            more={models.more}
            order={order}
            empty={
              isFiltered ? (
                <Empty title="No model matches">
                  <Button variant="default" size="xs" onClick={showAll}>
                    Show all models
                  </Button>
                </Empty>
              ) : (
                <Empty title="The catalog is empty">
                  {mayApply ? 'Apply the files of a catalog.' : 'An operator can apply one.'}
                </Empty>
              )
            }
          />
        )}
      </Loaded>
    </Page>
  );
}

function Losing({ models }: { models: Answer<'get', '/models'>['losing'] }) {
  if (models.length === 0) return null;
  return (
    <Alert
      color="orange"
      title={`${models.length} ${models.length === 1 ? 'model has' : 'models have'} requests that cost more than they earn`}
    >
      {models.map(({ id, display_name: name }, index) => (
        <span key={id}>
          {index > 0 && ', '}
          <PageLink to="/models/$modelId" params={{ modelId: id }} c="inherit" underline="always">
            {name}
          </PageLink>
        </span>
      ))}
      . Open the model to see which requests, and change its price.
    </Alert>
  );
}

/** The columns of the admin API by which the server sorts. */
const sortColumns = {
  display_name: 'display_name',
  owned_by: 'owned_by',
  type: 'type',
  state: 'state',
  margin: 'smallest_margin',
};

const columns: Columns<ModelRow> = [
  {
    accessorKey: 'display_name',
    header: 'Model',
    cell: ({ row: { original: model } }) => (
      <PageLink to="/models/$modelId" params={{ modelId: model.id }} fw={500} fz="inherit">
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
    accessorKey: 'state',
    header: 'Status',
    cell: ({ row: { original } }) => <Status of={original.state} />,
  },
  {
    id: 'price',
    header: 'Credits',
    enableSorting: false,
    cell: ({ row: { original } }) => <ShortPrice of={pricedOfRow(original)} />,
  },
  {
    id: 'margin',
    header: 'Smallest margin',
    accessorFn: ({ smallest_margin: share }) => share ?? Infinity,
    cell: ({ row: { original: model } }) => {
      const share = model.smallest_margin;
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
