import { Button, Card, Group, SimpleGrid, Stack, Tabs, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { change } from '../../api/admin.ts';
import { projectQuery } from '../../api/queries.ts';
import { useMay } from '../../api/session.ts';
import type { LedgerEntry, Project } from '../../api/admin-types.ts';
import { useList } from '../../api/use-list.ts';
import { CsvButton } from '../../ui/csv-button.tsx';
import { DataTable, numeric, type Columns } from '../../ui/data-table.tsx';
import { entryKinds } from '../../ui/entry-kinds.ts';
import { credits, creditsCell, money, number, words } from '../../ui/format.ts';
import { KeyLink, ResourceLink } from '../../ui/links.tsx';
import { Empty, Loaded, Loading, Page } from '../../ui/page.tsx';
import { RangeFilter } from '../../ui/range-filter.tsx';
import { useNarrowed } from '../../ui/use-narrowed.ts';
import { SwitchDialog } from '../../ui/switch-dialog.tsx';
import { Copyable, Status, When } from '../../ui/values.tsx';
import { Callbacks } from './callbacks.tsx';
import { AddCreditsDialog, DeductCreditsDialog } from './credits-dialogs.tsx';
import { ExpiringCredits } from './expiring-credits.tsx';
import { Keys } from './keys.tsx';
import { OverdraftDialog, type ProjectLimits } from './overdraft-dialog.tsx';
import { ProjectDialog } from './project-dialog.tsx';
import { ProjectTracesDialog, traceContents } from './project-traces-dialog.tsx';
import { ProjectPlanDialog } from './project-plan-dialog.tsx';

const Usage = lazy(() => import('./usage.tsx'));

/** A project: its credits, its keys, what they used and every entry of its ledger. */
export default function ProjectPage() {
  const { projectId } = useParams({ from: '/projects/$projectId' });
  const { tab = 'keys' } = useSearch({ from: '/projects/$projectId' });
  const navigate = useNavigate();
  const project = useQuery(projectQuery(projectId));
  return (
    <Page
      title={project.data?.name || 'Project'}
      about={<Copyable text={projectId} label="Copy the id" wrap />}
      actions={project.data && <ProjectActions projectId={projectId} {...project.data} />}
    >
      <Loaded of={project}>
        {({ status, note, plan, balance, reserved, expiring, trace_content: content, ...limits }) => (
          <>
            {note !== null && <Text className="breakable">{note}</Text>}
            <SimpleGrid cols={{ base: 2, sm: 3 }}>
              <Fact label="Credits">
                <span className="figure">{number(balance)}</span>
                <Text size="sm" c="dimmed">
                  {money(balance)}
                </Text>
              </Fact>
              <Fact label="Held by running requests">
                <span className="figure">{number(reserved)}</span>
                <Text size="sm" c="dimmed">
                  {money(reserved)}
                </Text>
              </Fact>
              <Fact label="Overdraft">{limits.overdraft === 0 ? 'None' : creditsCell(limits.overdraft)}</Fact>
              <Fact label="Alerts">
                <Alerts {...limits} />
              </Fact>
              <Fact label="Plan">{plan === null ? 'Prices of the catalog' : <ResourceLink of="plan" id={plan} />}</Fact>
              <Fact label="Content of traces">{traceContents[content ?? 'none']}</Fact>
              <Fact label="Status">
                <Status of={status} />
              </Fact>
            </SimpleGrid>
            <ExpiringCredits credits={expiring} />
          </>
        )}
      </Loaded>
      <Tabs
        value={tab}
        onChange={(next) =>
          void navigate({ to: '/projects/$projectId', params: { projectId }, search: { tab: next ?? undefined } })
        }
        keepMounted={false}
      >
        <Tabs.List mb="md">
          <Tabs.Tab value="keys">Keys</Tabs.Tab>
          <Tabs.Tab value="usage">Usage</Tabs.Tab>
          <Tabs.Tab value="ledger">Ledger</Tabs.Tab>
          <Tabs.Tab value="callbacks">Callbacks</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="keys">
          <Keys projectId={projectId} />
        </Tabs.Panel>
        <Tabs.Panel value="usage">
          <Suspense fallback={<Loading label="Loading the chart" />}>
            <Usage projectId={projectId} />
          </Suspense>
        </Tabs.Panel>
        <Tabs.Panel value="ledger">
          <Ledger projectId={projectId} />
        </Tabs.Panel>
        <Tabs.Panel value="callbacks">
          <Callbacks projectId={projectId} />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}

/** When the project is told that its credits run low, and where. */
function Alerts({ alert_at: thresholds, alert_url: url, alert_mail: addresses }: ProjectLimits) {
  if (thresholds === null) return 'None';
  return (
    <div className="breakable">
      <div>At {thresholds.map(thresholdText).join(', ')}</div>
      <Text size="sm" c="dimmed">
        {[url, ...(addresses ?? [])].filter(Boolean).join(', ') || 'No receiver yet'}
      </Text>
    </div>
  );
}

const thresholdText = (threshold: string): string =>
  threshold.endsWith('%') ? `${threshold} of the last top-up` : credits(Number(threshold));

function Fact({ label, children }: { label: string; children: React.ReactNode }) {
  return (
    <Card withBorder padding="md">
      <Text size="sm" c="dimmed" mb={2}>
        {label}
      </Text>
      <div>{children}</div>
    </Card>
  );
}

function ProjectActions({
  projectId,
  name,
  note,
  status,
  plan,
  trace_content: content,
  ...limits
}: { projectId: string } & Pick<Project, 'name' | 'note' | 'status' | 'plan' | 'trace_content'> & ProjectLimits) {
  const mayAct = useMay('operator');
  const [action, setAction] = useState<
    'credits' | 'deduct' | 'plan' | 'overdraft' | 'traces' | 'name' | 'status' | null
  >(null);
  const close = (): void => setAction(null);
  if (!mayAct) return null;
  return (
    <Group gap="xs">
      <Button onClick={() => setAction('credits')}>Add credits</Button>
      <Button variant="default" onClick={() => setAction('deduct')}>
        Deduct credits
      </Button>
      <Button variant="default" onClick={() => setAction('plan')}>
        Change the plan
      </Button>
      <Button variant="default" onClick={() => setAction('overdraft')}>
        Overdraft and alerts
      </Button>
      <Button variant="default" onClick={() => setAction('traces')}>
        Content of traces
      </Button>
      <Button variant="default" onClick={() => setAction('name')}>
        Name and note
      </Button>
      <Button variant="default" onClick={() => setAction('status')}>
        {status === 'disabled' ? 'Enable' : 'Disable'}
      </Button>
      {action === 'name' && <ProjectDialog projectId={projectId} project={{ name, note }} onClose={close} />}
      {action === 'credits' && <AddCreditsDialog projectId={projectId} onClose={close} />}
      {action === 'plan' && <ProjectPlanDialog projectId={projectId} plan={plan} onClose={close} />}
      {action === 'traces' && <ProjectTracesDialog projectId={projectId} content={content} onClose={close} />}
      {action === 'deduct' && <DeductCreditsDialog projectId={projectId} onClose={close} />}
      {action === 'overdraft' && <OverdraftDialog projectId={projectId} limits={limits} onClose={close} />}
      <SwitchDialog
        opened={action === 'status'}
        onClose={close}
        name={name || projectId}
        enabled={status === 'active'}
        about={{
          enable: 'Its keys are accepted again.',
          disable: 'All of its keys are refused from now on. Its running tasks finish and are charged.',
        }}
        run={(switchAction) => change('post', `/projects/{id}/${switchAction}`, { id: projectId })}
      />
    </Group>
  );
}

function Ledger({ projectId }: { projectId: string }) {
  const { tab: _tab, kind: _kind, ...search } = useSearch({ from: '/projects/$projectId' });
  const navigate = useNavigate();
  const filters = { project: projectId, ...search };
  const entries = useList('/ledger', filters);
  const show = (changes: Record<string, string | undefined>): void =>
    void navigate({
      to: '/projects/$projectId',
      params: { projectId },
      search: { tab: 'ledger', ...search, ...changes },
    });
  useNarrowed(entries.error, search, show);
  return (
    <Stack>
      <Group align="flex-end" gap="sm">
        <RangeFilter value={search} onChange={show} />
        <CsvButton path="/ledger" filters={filters} name="ledger" />
      </Group>
      <Loaded of={entries}>
        {(rows) => (
          <DataTable
            label="Ledger"
            rows={rows}
            columns={ledgerColumns}
            rowId={(row) => row.entry_id}
            more={entries.more}
            order={{ sort: search.sort, onSort: (sort) => show({ sort }), columns: ledgerSortColumns }}
            empty={<Empty title="Nothing has moved the credits yet">Add credits to begin.</Empty>}
          />
        )}
      </Loaded>
    </Stack>
  );
}

const ledgerSortColumns = { at: 'at', kind: 'kind', credits: 'credits', balance_after: 'balance_after' };

/** What an entry is about, as a link, and what is said of it: its reference, or why the request ended as it did. */
function EntryReason({ entry }: { entry: LedgerEntry }) {
  const { reference, reason, task_id: taskId, request_id: requestId, key_id: keyId } = entry;
  const about =
    entry.kind === 'deduct' ? `${reference ?? ''}: ${reason ?? ''}` : (reference ?? (reason && words(reason)));
  return (
    <div className="breakable lines">
      {taskId !== null && <ResourceLink of="task" id={taskId} />}
      {requestId !== null && <ResourceLink of="request" id={requestId} />}
      {keyId !== null && (
        <Text size="xs" component="div" lh="inherit">
          <KeyLink id={keyId} />
        </Text>
      )}
      {about && <div>{about}</div>}
    </div>
  );
}

const ledgerColumns: Columns<LedgerEntry> = [
  { accessorKey: 'at', header: 'When', cell: ({ row: { original } }) => <When at={original.at} /> },
  { accessorKey: 'kind', header: 'Kind', cell: ({ row: { original } }) => entryKinds[original.kind] },
  {
    accessorKey: 'credits',
    header: 'Credits',
    cell: ({ row: { original } }) => creditsCell(original.credits),
    ...numeric,
  },
  {
    accessorKey: 'balance_after',
    header: 'Balance',
    cell: ({ row: { original } }) => creditsCell(original.balance_after),
    ...numeric,
  },
  {
    id: 'about',
    header: 'For',
    enableSorting: false,
    cell: ({ row: { original } }) => <EntryReason entry={original} />,
  },
];
