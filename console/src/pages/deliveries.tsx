import { Button, Group } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { useMay } from '../api/session.ts';
import type { ListedDelivery } from '../api/admin-types.ts';
import { useList } from '../api/use-list.ts';
import { DataTable, numeric, type Columns } from '../ui/data-table.tsx';
import { ChoiceFilter, TextFilter } from '../ui/filters.tsx';
import { Empty, Loaded, Page } from '../ui/page.tsx';
import { Status, When } from '../ui/values.tsx';
import { PageLink } from '../ui/links.tsx';
import { RedeliverDialog } from '../ui/redeliver-dialog.tsx';

const states = ['pending', 'delivered', 'exhausted', 'gone', 'blocked'];

/** The callbacks to clients. */
export default function Deliveries() {
  const search = useSearch({ from: '/deliveries' });
  const navigate = useNavigate();
  const mayAct = useMay('operator');
  const [again, setAgain] = useState<ListedDelivery | null>(null);
  const deliveries = useList('/deliveries', search);
  const filter = (name: keyof typeof search) => (value: string | undefined) =>
    void navigate({ to: '/deliveries', search: { ...search, [name]: value }, replace: true });
  return (
    <Page title="Deliveries" about="The callbacks that tell clients about ended tasks, newest first.">
      <Group align="flex-end" gap="sm">
        <ChoiceFilter label="State" value={search.state} onChange={filter('state')} options={states} />
        <TextFilter label="Project" value={search.project} onChange={filter('project')} placeholder="prj_…" />
        <TextFilter label="Task" value={search.task} onChange={filter('task')} placeholder="task_…" />
      </Group>
      <Loaded of={deliveries}>
        {(rows) => (
          <DataTable
            label="Deliveries"
            rows={rows}
            columns={columnsOf(mayAct ? setAgain : null)}
            rowId={(row) => row.delivery_id}
            more={deliveries.more}
            empty={
              <Empty title={Object.values(search).some(Boolean) ? 'No delivery matches' : 'No delivery yet'}>
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

const columnsOf = (redeliver: ((delivery: ListedDelivery) => void) | null): Columns<ListedDelivery> => [
  {
    accessorKey: 'task_id',
    header: 'Task',
    enableSorting: false,
    cell: ({ row: { original } }) => (
      <PageLink to="/tasks/$taskId" params={{ taskId: original.task_id }} ff="monospace" size="sm">
        {original.task_id.slice(0, 14)}…
      </PageLink>
    ),
  },
  { accessorKey: 'state', header: 'State', cell: ({ row: { original } }) => <Status of={original.state} /> },
  { accessorKey: 'attempts', header: 'Tries', ...numeric },
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
    enableSorting: false,
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
            original.state === 'pending' ? null : (
              <Button
                size="compact-sm"
                variant="default"
                onClick={() => redeliver(original)}
                aria-label={`Send again: ${original.task_id}`}
              >
                Send again
              </Button>
            ),
        },
      ]),
];
