import { Button, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { change } from '../../api/admin.ts';
import type { Operator } from '../../api/admin-types.ts';
import { signInQuery } from '../../api/session.ts';
import { useList } from '../../api/use-list.ts';
import { ActionDialog } from '../../ui/action-dialog.tsx';
import { DataTable, type Columns } from '../../ui/data-table.tsx';
import { PlusIcon } from '../../ui/icons.tsx';
import { Empty, Loaded } from '../../ui/page.tsx';
import { When } from '../../ui/values.tsx';
import { OperatorDialog } from './operator-dialog.tsx';

/** The people who may sign in by OIDC. */
export function Operators() {
  const people = useList('/operators');
  const { data: options } = useQuery(signInQuery);
  const [adding, setAdding] = useState(false);
  const [removed, setRemoved] = useState<Operator | null>(null);
  return (
    <Stack>
      <Text c="dimmed" size="sm">
        {options?.oidc === null
          ? 'No person can sign in by an identity provider, because OIDC_ISSUER is not set.'
          : 'They sign in at the identity provider. A person has no role by default.'}
      </Text>
      <Group>
        <Button variant="default" leftSection={<PlusIcon size={16} />} onClick={() => setAdding(true)}>
          Add a person
        </Button>
      </Group>
      <Loaded of={people}>
        {(rows) => (
          <DataTable
            label="People"
            rows={rows}
            columns={columnsOf(setRemoved)}
            rowId={(row) => row.operator_id}
            more={people.more}
            empty={
              <Empty title="No person may sign in by an identity provider yet">
                A sign-in that is refused shows the issuer and the subject to add.
              </Empty>
            }
          />
        )}
      </Loaded>
      {adding && <OperatorDialog onClose={() => setAdding(false)} />}
      <ActionDialog
        opened={removed !== null}
        onClose={() => setRemoved(null)}
        title={`Remove ${removed?.name ?? ''}`}
        about="The person can no longer sign in, and open sessions end now. To change a role, remove the person and add them again."
        act="Remove"
        danger
        run={() => change('post', '/operators/{id}/remove', { id: removed?.operator_id ?? '' })}
        done={() => `${removed?.name ?? 'The person'} is removed.`}
      />
    </Stack>
  );
}

const columnsOf = (remove: (person: Operator) => void): Columns<Operator> => [
  { accessorKey: 'name', header: 'Name' },
  { accessorKey: 'role', header: 'Role' },
  {
    id: 'person',
    header: 'Subject and issuer',
    accessorFn: ({ subject }) => subject,
    cell: ({ row: { original: person } }) => (
      <div>
        <Text fz="inherit" className="breakable">
          {person.subject}
        </Text>
        <Text size="xs" c="dimmed" className="breakable">
          {person.issuer}
        </Text>
      </div>
    ),
  },
  { accessorKey: 'created_at', header: 'Added', cell: ({ row: { original } }) => <When at={original.created_at} /> },
  {
    accessorKey: 'last_used_at',
    header: 'Last used',
    cell: ({ row: { original } }) => <When at={original.last_used_at} />,
  },
  {
    id: 'actions',
    header: 'Actions',
    enableSorting: false,
    cell: ({ row: { original } }) => (
      <Button
        size="compact-sm"
        variant="default"
        onClick={() => remove(original)}
        aria-label={`Remove ${original.name}`}
      >
        Remove
      </Button>
    ),
  },
];
