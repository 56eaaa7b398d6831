import { Code, Stack, Text } from '@mantine/core';
import type { AdminToken } from '../../api/admin-types.ts';
import { useList } from '../../api/use-list.ts';
import { DataTable, type Columns } from '../../ui/data-table.tsx';
import { Empty, Loaded } from '../../ui/page.tsx';
import { Status, When } from '../../ui/values.tsx';

/** The admin tokens, without the tokens themselves. */
export function AdminTokens() {
  const tokens = useList('/admin-tokens');
  return (
    <Stack>
      <Text c="dimmed" size="sm">
        For scripts, for the command line with --server, and to sign in without an identity provider. Create and revoke
        them on the server: <Code>npx tollgate admin-tokens</Code>
      </Text>
      <Loaded of={tokens}>
        {(rows) => (
          <DataTable
            label="Admin tokens"
            rows={rows}
            columns={columns}
            rowId={(row) => row.token_id}
            more={tokens.more}
            empty={<Empty title="There is no admin token" />}
          />
        )}
      </Loaded>
    </Stack>
  );
}

const columns: Columns<AdminToken> = [
  {
    accessorKey: 'name',
    header: 'Name',
    cell: ({ row: { original: token } }) => (
      <div>
        <Text size="sm" fw={500} className="breakable">
          {token.name || token.token_id}
        </Text>
        <Text size="xs" c="dimmed" ff="monospace">
          {token.prefix}…{token.last4}
        </Text>
      </div>
    ),
  },
  { accessorKey: 'role', header: 'Role' },
  { accessorKey: 'state', header: 'State', cell: ({ row: { original } }) => <Status of={original.state} /> },
  {
    accessorKey: 'expires_at',
    header: 'Expires',
    cell: ({ row: { original } }) => (original.expires_at === null ? 'Never' : <When at={original.expires_at} />),
  },
  {
    accessorKey: 'last_used_at',
    header: 'Last used',
    cell: ({ row: { original } }) => <When at={original.last_used_at} />,
  },
];
