import { Button, Card, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import { useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { change } from '../api/admin.ts';
import { useMay } from '../api/session.ts';
import type { JobRun } from '../api/admin-types.ts';
import { useList } from '../api/use-list.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { DataTable, numeric, type Columns } from '../ui/data-table.tsx';
import { ChoiceFilter } from '../ui/filters.tsx';
import { number, seconds, words } from '../ui/format.ts';
import { Empty, Loaded, Page } from '../ui/page.tsx';
import { RangeFilter } from '../ui/range-filter.tsx';
import { useListView } from '../ui/use-list-view.ts';
import { useNarrowed } from '../ui/use-narrowed.ts';
import { Status, When } from '../ui/values.tsx';
import { VerifyLedger } from './verify-ledger.tsx';

/** The scheduled jobs, in the words of the runbook. */
const scheduledJobs = [
  { name: 'process-pending-callbacks', about: 'Sends callbacks that are due.' },
  { name: 'check-stale-media-tasks', about: 'Ends tasks that have passed their deadline and refunds them.' },
  { name: 'check-api-channels', about: 'Asks the providers whether they answer and which models they list.' },
  { name: 'scheduled-maintenance', about: 'Deletes what has expired and builds the summaries. Runs every night.' },
  {
    name: 'check-balances',
    about: 'Removes expired credits, and tells projects whose credits run low.',
  },
] as const;

/** The scheduled jobs and their runs. */
export default function ScheduledJobs() {
  const search = useSearch({ from: '/jobs' });
  const runs = useList('/jobs', search);
  const { show, filter, order, isFiltered } = useListView('/jobs', search, sortColumns);
  useNarrowed(runs.error, search, show);
  const mayRun = useMay('operator');
  const [verifying, setVerifying] = useState(false);
  const [selected, setSelected] = useState<JobRun['name'] | null>(null);
  return (
    <Page
      title="Jobs"
      about="Jobs run by themselves. Run one by hand after you have repaired something."
      actions={
        mayRun && (
          <Button variant="default" onClick={() => setVerifying(true)}>
            Verify the ledger
          </Button>
        )
      }
    >
      {verifying && <VerifyLedger onClose={() => setVerifying(false)} />}
      <ScheduledJobCards onRun={mayRun ? setSelected : null} />
      <Group align="flex-end" gap="sm">
        <ChoiceFilter
          label="Job"
          value={search.name}
          onChange={filter('name')}
          options={scheduledJobs.map(({ name }) => ({ value: name, label: name }))}
        />
        <RangeFilter value={search} onChange={show} />
      </Group>
      <Loaded of={runs}>
        {(rows) => (
          <DataTable
            label="Runs"
            rows={rows}
            columns={columns}
            rowId={(row) => row.run_id}
            more={runs.more}
            order={order}
            empty={
              <Empty title={isFiltered ? 'No run matches' : 'No job has run yet'}>
                The first runs start within a minute.
              </Empty>
            }
          />
        )}
      </Loaded>
      <ActionDialog
        opened={selected !== null}
        onClose={() => setSelected(null)}
        title={`Run ${selected ?? ''}`}
        about="The job runs now, unless it is running already. It may take some seconds."
        act="Run now"
        run={() => change('post', '/jobs/{name}/run', { name: selected ?? scheduledJobs[0].name })}
        done={(result) =>
          !('ran' in result)
            ? 'It runs. The list shows its end.'
            : result.ran
              ? `The run has ${result.state}.`
              : 'It is already running.'
        }
      />
    </Page>
  );
}

function ScheduledJobCards({ onRun }: { onRun: ((name: JobRun['name']) => void) | null }) {
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }}>
      {scheduledJobs.map(({ name, about }) => (
        <Card withBorder key={name} component="article" aria-label={name}>
          <Stack gap="xs" h="100%">
            <Text fw={600} className="breakable">
              {name}
            </Text>
            <Text size="sm" c="dimmed">
              {about}
            </Text>
            {onRun && (
              <Group mt="auto">
                <Button size="xs" variant="default" onClick={() => onRun(name)} aria-label={`Run now: ${name}`}>
                  Run now
                </Button>
              </Group>
            )}
          </Stack>
        </Card>
      ))}
    </SimpleGrid>
  );
}

const sortColumns = { name: 'name', state: 'state', trigger: 'trigger', started_at: 'started_at' };

const columns: Columns<JobRun> = [
  {
    accessorKey: 'name',
    header: 'Job',
    cell: ({ row: { original } }) => <span className="nowrap">{original.name}</span>,
  },
  { accessorKey: 'state', header: 'State', cell: ({ row: { original } }) => <Status of={original.state} /> },
  { accessorKey: 'trigger', header: 'Started by', cell: ({ row: { original } }) => words(original.trigger) },
  { accessorKey: 'started_at', header: 'Started', cell: ({ row: { original } }) => <When at={original.started_at} /> },
  {
    id: 'took',
    header: 'Took',
    accessorFn: ({ started_at: from, ended_at: to }) => (from === null || to === null ? null : to - from),
    cell: ({ getValue }) => {
      const span = getValue<number | null>();
      return <span className="nowrap">{span === null ? 'Not ended' : seconds(span)}</span>;
    },
    ...numeric,
  },
  {
    id: 'summary',
    header: 'What it did',
    enableSorting: false,
    cell: ({ row: { original } }) => <RunSummary run={original} />,
  },
];

function RunSummary({ run: { summary, ended_at: endedAt } }: { run: JobRun }) {
  if (endedAt === null) return <>Not ended</>;
  const counts = countsOf(summary ?? {});
  return (
    <details className="detail">
      <summary>{counts.length === 0 ? 'Nothing was due' : counts.join(', ')}</summary>
      <pre>{JSON.stringify(summary, null, 2)}</pre>
    </details>
  );
}

/** What a run counted. The length of a list counts; times and ids are in the detail only. */
function countsOf(summary: Record<string, unknown>): string[] {
  return Object.entries(summary).flatMap(([name, value]) => {
    const count = Array.isArray(value) ? value.length : value;
    if (typeof count !== 'number' || count === 0 || ['ms', 'checkpoint_id'].includes(name)) return [];
    return [`${words(name)}: ${number(count)}`];
  });
}
