import { Button, Group, Text } from '@mantine/core';
import { useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { change } from '../api/admin.ts';
import { useMay } from '../api/session.ts';
import type { ListedDelivery } from '../api/admin-types.ts';
import { useList } from '../api/use-list.ts';
import { DataTable, numeric, type Columns } from '../ui/data-table.tsx';
import { ChoiceFilter, TextFilter } from '../ui/filters.tsx';
import { words } from '../ui/format.ts';
import { ManyActions } from '../ui/many-actions.tsx';
import { Empty, Loaded, Page } from '../ui/page.tsx';
import { ProjectFilter } from '../ui/picks.tsx';
import { RangeFilter } from '../ui/range-filter.tsx';
import { useListView } from '../ui/use-list-view.ts';
import { useNarrowed } from '../ui/use-narrowed.ts';
import { Status, When } from '../ui/values.tsx';
import { ResourceLink } from '../ui/links.tsx';
import { RedeliverDialog } from '../ui/redeliver-dialog.tsx';
import { deliveryState, isFailedTry, tryText } from './delivery-state.ts';

const states = [
  { value: 'pending', label: 'Waiting or retrying' },
  ...['delivered', 'exhausted', 'gone', 'blocked', 'replaced'].map((value) => ({ value, label: words(value) })),
];

/** The callbacks to clients. */
export default function Deliveries() {
  const search = useSearch({ from: '/deliveries' });
  const mayAct = useMay('operator');
  const [again, setAgain] = useState<ListedDelivery | null>(null);
  const deliveries = useList('/deliveries', search);
  const { show, filter, order, isFiltered } = useListView('/deliveries', search, sortColumns);
  useNarrowed(deliveries.error, search, show);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const tasks = new Set((deliveries.data ?? []).filter((row) => chosen.has(row.delivery_id)).map((row) => row.task_id));
  return (
    <Page title="Deliveries" about="The callbacks that tell clients about ended tasks.">
      <Group align="flex-end" gap="sm">
        <ChoiceFilter label="State" value={search.state} onChange={filter('state')} options={states} />
        <ProjectFilter value={search.project} onChange={filter('project')} />
        <TextFilter label="Task" value={search.task} onChange={filter('task')} placeholder="task_…" />
        <TextFilter label="Receiver" value={search.host} onChange={filter('host')} placeholder="hooks.example.com" />
        <RangeFilter value={search} onChange={show} />
      </Group>
      {mayAct && (
        <ManyActions
          ids={[...tasks]}
          act="Send again"
          noun={['task', 'tasks']}
          about="Each receiver gets the task once more, under a new webhook-id. A callback that is still tried is replaced."
          each={async (id) => (await change('post', '/tasks/{id}/redeliver', { id })).callback !== null}
          onDone={() => setChosen(new Set())}
        />
      )}
      <Loaded of={deliveries}>
        {(rows) => (
          <DataTable
            label="Deliveries"
            rows={rows}
            columns={columnsOf(mayAct ? setAgain : null)}
            order={order}
            choice={mayAct ? { chosen, onChange: setChosen } : undefined}
            rowId={(row) => row.delivery_id}
            more={deliveries.more}
            empty={
              <Empty title={isFiltered ? 'No delivery matches' : 'No delivery yet'}>
                A task that is created with a callback_url has one when it ends.
              </Empty>
            }
          />
        )}
      </Loaded>
      <RedeliverDialog taskId={again?.task_id ?? null} onClose={() => setAgain(null)} />
    </Page>
  );
}

const sortColumns = {
  task_id: 'task_id',
  project: 'project_id',
  host: 'host',
  state: 'state',
  attempts: 'attempts',
  last_status: 'last_status',
  created_at: 'created_at',
  next: 'next_attempt_at',
};

/** The tries of a callback, each with what became of it. */
function Tries({ of: { attempts, tries } }: { of: ListedDelivery }) {
  if (tries.length === 0) return String(attempts);
  return (
    <details className="detail">
      <summary>{attempts}</summary>
      {tries.map((one) => (
        <Text key={one.n} size="xs" {...(isFailedTry(one) && { c: 'red' })}>
          {one.n} {isFailedTry(one) && 'failed'} <When at={one.started_at} />: {tryText(one)}
        </Text>
      ))}
    </details>
  );
}

const columnsOf = (redeliver: ((delivery: ListedDelivery) => void) | null): Columns<ListedDelivery> => [
  {
    accessorKey: 'task_id',
    header: 'Task',
    enableSorting: false,
    cell: ({ row: { original } }) => <ResourceLink of="task" id={original.task_id} short />,
  },
  {
    id: 'project',
    header: 'Project',
    accessorFn: (row) => row.project_name || row.project_id,
    cell: ({ row: { original } }) => (
      <ResourceLink of="project" id={original.project_id} name={original.project_name} />
    ),
  },
  { accessorKey: 'state', header: 'State', cell: ({ row: { original } }) => <Status of={deliveryState(original)} /> },
  { accessorKey: 'attempts', header: 'Tries', cell: ({ row: { original } }) => <Tries of={original} />, ...numeric },
  {
    accessorKey: 'last_status',
    header: 'Last answer',
    cell: ({ row: { original } }) => original.last_status ?? 'None yet',
    ...numeric,
  },
  { accessorKey: 'created_at', header: 'Created', cell: ({ row: { original } }) => <When at={original.created_at} /> },
  {
    id: 'next',
    header: 'Next try',
    cell: ({ row: { original } }) => (
      <When at={original.state === 'pending' ? original.next_attempt_at : null} absent="None" />
    ),
  },
  ...(redeliver === null
    ? []
    : [
        {
          id: 'actions',
          header: 'Actions',
          enableSorting: false,
          cell: ({ row: { original } }: { row: { original: ListedDelivery } }) =>
            original.state === 'replaced' ? null : (
              <Button
                size="compact-sm"
                variant="default"
                onClick={() => redeliver(original)}
                aria-label={`${original.state === 'pending' ? 'Send now' : 'Send again'}: ${original.task_id}`}
              >
                {original.state === 'pending' ? 'Send now' : 'Send again'}
              </Button>
            ),
        },
      ]),
];
