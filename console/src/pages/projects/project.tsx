import { Button, Card, Group, NumberInput, SimpleGrid, Tabs, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { change, read } from '../../api/admin.ts';
import { useMay } from '../../api/session.ts';
import type { LedgerEntry, Project } from '../../api/admin-types.ts';
import { useList } from '../../api/use-list.ts';
import { ActionDialog } from '../../ui/action-dialog.tsx';
import { DataTable, numeric, type Columns } from '../../ui/data-table.tsx';
import { credits, number } from '../../ui/format.ts';
import { Empty, Loaded, Loading, Page } from '../../ui/page.tsx';
import { Copyable, Status, When } from '../../ui/values.tsx';
import { Keys } from './keys.tsx';

const Usage = lazy(() => import('./usage.tsx'));

/** A project: its credits, its keys, what they used and every entry of its ledger. */
export default function ProjectPage() {
  const { projectId } = useParams({ from: '/projects/$projectId' });
  const project = useQuery({
    queryKey: ['project', projectId],
    queryFn: async () => {
      const [account, list] = await Promise.all([
        read('/credits', { project: projectId }),
        read('/projects', { limit: 1_000 }),
      ]);
      const about = list.data.find(({ project_id: id }) => id === projectId);
      return { name: about?.name ?? '', status: about?.status ?? ('active' as const), ...account };
    },
  });
  return (
    <Page
      title={project.data?.name || 'Project'}
      about={<Copyable text={projectId} label="Copy the id" wrap />}
      actions={project.data && <ProjectActions projectId={projectId} status={project.data.status} />}
    >
      <Loaded of={project}>
        {({ status, balance, reserved }) => (
          <SimpleGrid cols={{ base: 2, sm: 3 }}>
            <Fact label="Credits">
              <span className="figure">{number(balance)}</span>
            </Fact>
            <Fact label="Held by running requests">
              <span className="figure">{number(reserved)}</span>
            </Fact>
            <Fact label="Status">
              <Status of={status} />
            </Fact>
          </SimpleGrid>
        )}
      </Loaded>
      <Tabs defaultValue="keys" keepMounted={false}>
        <Tabs.List mb="md">
          <Tabs.Tab value="keys">Keys</Tabs.Tab>
          <Tabs.Tab value="usage">Usage</Tabs.Tab>
          <Tabs.Tab value="ledger">Ledger</Tabs.Tab>
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
      </Tabs>
    </Page>
  );
}

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

function ProjectActions({ projectId, status }: { projectId: string; status: Project['status'] }) {
  const mayAct = useMay('operator');
  const [action, setAction] = useState<'credits' | 'status' | null>(null);
  const close = (): void => setAction(null);
  const enable = status === 'disabled';
  if (!mayAct) return null;
  return (
    <Group gap="xs">
      <Button onClick={() => setAction('credits')}>Add credits</Button>
      <Button variant="default" onClick={() => setAction('status')}>
        {enable ? 'Enable' : 'Disable'}
      </Button>
      {action === 'credits' && <CreditsDialog projectId={projectId} onClose={close} />}
      <ActionDialog
        opened={action === 'status'}
        onClose={close}
        title={enable ? 'Enable this project' : 'Disable this project'}
        about={
          enable
            ? 'Its keys are accepted again.'
            : 'All of its keys are refused from now on. Its running tasks finish and are charged.'
        }
        act={enable ? 'Enable' : 'Disable'}
        danger={!enable}
        run={() => change('post', `/projects/{id}/${enable ? 'enable' : 'disable'}`, { id: projectId })}
        done={() => (enable ? 'The project is enabled.' : 'The project is disabled.')}
      />
    </Group>
  );
}

function CreditsDialog({ projectId, onClose }: { projectId: string; onClose: () => void }) {
  const [amount, setAmount] = useState<number | string>(1_000);
  const [reference, setReference] = useState('');
  return (
    <ActionDialog
      opened
      onClose={onClose}
      title="Add credits"
      about="The same reference adds credits only once, so a repeated press cannot pay twice."
      act="Add"
      disabled={typeof amount !== 'number' || reference.trim() === ''}
      run={() => change('post', '/credits', {}, { project: projectId, amount, reference: reference.trim() })}
      done={() => `Added ${credits(Number(amount))}.`}
    >
      <NumberInput
        label="Credits"
        value={amount}
        onChange={setAmount}
        min={1}
        allowDecimal={false}
        thousandSeparator=","
        required
      />
      <TextInput
        label="Reference"
        description="Such as the number of an invoice"
        value={reference}
        onChange={(event) => setReference(event.currentTarget.value)}
        required
      />
    </ActionDialog>
  );
}

function Ledger({ projectId }: { projectId: string }) {
  const entries = useList('/ledger', { project: projectId });
  return (
    <Loaded of={entries}>
      {(rows) => (
        <DataTable
          label="Ledger"
          rows={rows}
          columns={ledgerColumns}
          rowId={(row) => row.entry_id}
          more={entries.more}
          empty={<Empty title="Nothing has moved the credits yet">Add credits to begin.</Empty>}
        />
      )}
    </Loaded>
  );
}

const kinds: Record<LedgerEntry['kind'], string> = {
  topup: 'Added',
  settle: 'Charged',
  refund: 'Refunded',
  adjust: 'Given back',
};

const ledgerColumns: Columns<LedgerEntry> = [
  { accessorKey: 'at', header: 'When', cell: ({ row: { original } }) => <When at={original.at} /> },
  { accessorKey: 'kind', header: 'Kind', cell: ({ row: { original } }) => kinds[original.kind] },
  { accessorKey: 'credits', header: 'Credits', cell: ({ row: { original } }) => number(original.credits), ...numeric },
  {
    accessorKey: 'balance_after',
    header: 'Balance',
    cell: ({ row: { original } }) => number(original.balance_after),
    ...numeric,
  },
  {
    id: 'about',
    header: 'For',
    enableSorting: false,
    cell: ({ row: { original } }) => (
      <span className="breakable">{original.reference ?? original.task_id ?? original.request_id ?? '–'}</span>
    ),
  },
];
