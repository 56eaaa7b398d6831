import { Button, Group } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { change } from '../../api/admin.ts';
import { plansQuery } from '../../api/queries.ts';
import { useMay } from '../../api/session.ts';
import type { CreatedProject, Project } from '../../api/admin-types.ts';
import { useList } from '../../api/use-list.ts';
import { ActionDialog } from '../../ui/action-dialog.tsx';
import { DataTable, numeric, type Columns } from '../../ui/data-table.tsx';
import { ChoiceFilter } from '../../ui/filters.tsx';
import { TextField } from '../../ui/fields.tsx';
import { creditsCell, number } from '../../ui/format.ts';
import { PlusIcon } from '../../ui/icons.tsx';
import { Empty, Loaded, Page } from '../../ui/page.tsx';
import { SecretDialog } from '../../ui/secret-dialog.tsx';
import { useListView } from '../../ui/use-list-view.ts';
import { Status, When } from '../../ui/values.tsx';
import { PageLink } from '../../ui/links.tsx';

/** The projects, which own credits and keys. */
export default function ProjectList() {
  const search = useSearch({ from: '/projects' });
  const projects = useList('/projects', search);
  const { filter, order, isFiltered, showAll } = useListView('/projects', search, sortColumns);
  const plans = useQuery(plansQuery);
  const mayCreate = useMay('owner');
  const [opened, setOpened] = useState(false);
  return (
    <Page
      title="Projects and keys"
      about="A project owns credits and the API keys that spend them."
      actions={
        mayCreate && (
          <Button leftSection={<PlusIcon size={16} />} onClick={() => setOpened(true)}>
            New project
          </Button>
        )
      }
    >
      <Group gap="sm">
        <ChoiceFilter
          label="Status"
          value={search.status}
          onChange={filter('status')}
          options={['active', 'disabled']}
        />
        <ChoiceFilter
          label="Plan"
          value={search.plan}
          onChange={filter('plan')}
          options={[
            { value: 'none', label: 'Without a plan' },
            ...(plans.data?.data ?? []).map(({ name }) => ({ value: name, label: name })),
          ]}
        />
      </Group>
      <Loaded of={projects}>
        {(rows) => (
          <DataTable
            label="Projects"
            rows={rows}
            columns={columns}
            rowId={(row) => row.project_id}
            more={projects.more}
            order={order}
            empty={
              isFiltered ? (
                <Empty title="No project matches">
                  <Button variant="default" size="xs" onClick={showAll}>
                    Show all projects
                  </Button>
                </Empty>
              ) : (
                <Empty title="There is no project yet">
                  {mayCreate ? 'Create one, give it credits, and make a key for it.' : 'An owner can create one.'}
                </Empty>
              )
            }
          />
        )}
      </Loaded>
      <NewProject opened={opened} onClose={() => setOpened(false)} />
    </Page>
  );
}

const sortColumns = {
  name: 'name',
  plan: 'plan',
  status: 'status',
  balance: 'balance',
  reserved: 'reserved',
  created_at: 'created_at',
};

const columns: Columns<Project> = [
  {
    accessorKey: 'name',
    header: 'Name',
    cell: ({ row: { original: project } }) => (
      <PageLink to="/projects/$projectId" params={{ projectId: project.project_id }} fw={500} fz="inherit">
        {project.name || project.project_id}
      </PageLink>
    ),
  },
  {
    accessorKey: 'plan',
    header: 'Plan',
    cell: ({ row: { original } }) =>
      original.plan === null ? (
        'None'
      ) : (
        <PageLink to="/plans/$planName" params={{ planName: original.plan }} fz="inherit">
          {original.plan}
        </PageLink>
      ),
  },
  { accessorKey: 'status', header: 'Status', cell: ({ row: { original } }) => <Status of={original.status} /> },
  {
    accessorKey: 'balance',
    header: 'Credits',
    cell: ({ row: { original } }) => creditsCell(original.balance),
    ...numeric,
  },
  { accessorKey: 'reserved', header: 'Held', cell: ({ row: { original } }) => number(original.reserved), ...numeric },
  { accessorKey: 'created_at', header: 'Created', cell: ({ row: { original } }) => <When at={original.created_at} /> },
];

function NewProject({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const navigate = useNavigate();
  const [name, setName] = useState('');
  const [created, setCreated] = useState<CreatedProject | null>(null);
  return (
    <>
      <ActionDialog
        opened={opened}
        onClose={onClose}
        title="New project"
        about="It begins without credits. Its callback secret signs the callbacks of its tasks."
        act="Create"
        disabled={name.trim() === ''}
        run={() => change('post', '/projects', {}, { name: name.trim() })}
        done={() => `Created ${name}.`}
        onDone={setCreated}
      >
        <TextField label="Name" value={name} onChange={setName} required data-autofocus />
      </ActionDialog>
      <SecretDialog
        title="The callback secret of the project"
        about="Give it to the receiver of its callbacks, which checks their signatures with it. An owner can show it again under Callbacks."
        secret={created?.webhook_secret ?? null}
        onClose={() => {
          const projectId = created?.project_id ?? '';
          setCreated(null);
          void navigate({ to: '/projects/$projectId', params: { projectId } });
        }}
      />
    </>
  );
}
