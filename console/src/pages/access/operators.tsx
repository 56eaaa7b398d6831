import { Code, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { Operator } from '../../api/admin-types.ts';
import { signInQuery } from '../../api/session.ts';
import { useList } from '../../api/use-list.ts';
import { DataTable, type Columns } from '../../ui/data-table.tsx';
import { Empty, Loaded } from '../../ui/page.tsx';
import { When } from '../../ui/values.tsx';

/** The people who may sign in by OIDC. */
export function Operators() {
  const people = useList('/operators');
  const { data: options } = useQuery(signInQuery);
  return (
    <Stack>
      <Text c="dimmed" size="sm">
        {options?.oidc === null
          ? 'Nobody can sign in by an identity provider, because OIDC_ISSUER is not set.'
          : 'They sign in at the identity provider. Nobody has a role by default.'}{' '}
        Add and remove them on the server: <Code>npx tollgate operators</Code>
      </Text>
      <Loaded of={people}>
        {(rows) => (
          <DataTable
            label="People"
            rows={rows}
            columns={columns}
            rowId={(row) => row.operator_id}
            more={people.more}
            empty={
              <Empty title="Nobody may sign in by an identity provider yet">
                A sign-in that is refused shows the issuer and the subject to add.
              </Empty>
            }
          />
        )}
      </Loaded>
    </Stack>
  );
}

const columns: Columns<Operator> = [
  { accessorKey: 'name', header: 'Name' },
  { accessorKey: 'role', header: 'Role' },
  {
    id: 'person',
    header: 'Subject and issuer',
    accessorFn: ({ subject }) => subject,
    cell: ({ row: { original: person } }) => (
      <div>
        <Text size="sm" className="breakable">
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
];
