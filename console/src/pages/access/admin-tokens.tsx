import { Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { change } from '../../api/admin.ts';
import type { AdminToken } from '../../api/admin-types.ts';
import { useList } from '../../api/use-list.ts';
import { ActionDialog } from '../../ui/action-dialog.tsx';
import { DataTable, type Columns } from '../../ui/data-table.tsx';
import { PlusIcon } from '../../ui/icons.tsx';
import { Empty, Loaded } from '../../ui/page.tsx';
import { SecretDialog } from '../../ui/secret-dialog.tsx';
import { Status, When } from '../../ui/values.tsx';
import { TokenDialog } from './token-dialog.tsx';

/** The admin tokens, without the tokens themselves. */
export function AdminTokens() {
  const tokens = useList('/admin-tokens');
  const [creating, setCreating] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  const [revoked, setRevoked] = useState<AdminToken | null>(null);
  return (
    <Stack>
      <Text c="dimmed" size="sm">
        For scripts, for the command line with <span className="nowrap">--server</span>, and to sign in without an
        identity provider.
      </Text>
      <Group>
        <Button variant="default" leftSection={<PlusIcon size={16} />} onClick={() => setCreating(true)}>
          New admin token
        </Button>
      </Group>
      <Loaded of={tokens}>
        {(rows) => (
          <DataTable
            label="Admin tokens"
            rows={rows}
            columns={columnsOf(setRevoked)}
            rowId={(row) => row.token_id}
            more={tokens.more}
            empty={<Empty title="There is no admin token" />}
          />
        )}
      </Loaded>
      {creating && <TokenDialog onClose={() => setCreating(false)} onToken={setSecret} />}
      <SecretDialog
        title="The admin token"
        about="Copy it now and keep it safe. It is shown this once: only its digest is stored."
        secret={secret}
        onClose={() => setSecret(null)}
      />
      <ActionDialog
        opened={revoked !== null}
        onClose={() => setRevoked(null)}
        title={`Revoke ${nameOf(revoked)}`}
        about="Requests with this token are refused from now on, and the sessions that began with it end. This cannot be undone."
        act="Revoke"
        danger
        run={() => change('post', '/admin-tokens/{id}/revoke', { id: revoked?.token_id ?? '' })}
        done={() => 'The token is revoked.'}
      />
    </Stack>
  );
}

const nameOf = (token: AdminToken | null): string => token?.name || token?.token_id || '';

const columnsOf = (revoke: (token: AdminToken) => void): Columns<AdminToken> => [
  {
    accessorKey: 'name',
    header: 'Name',
    cell: ({ row: { original: token } }) => (
      <div>
        <Text fz="inherit" fw={500} className="breakable">
          {nameOf(token)}
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
  {
    id: 'actions',
    header: 'Actions',
    enableSorting: false,
    cell: ({ row: { original } }) =>
      original.state === 'revoked' ? null : (
        <Button
          size="compact-sm"
          variant="default"
          onClick={() => revoke(original)}
          aria-label={`Revoke ${nameOf(original)}`}
        >
          Revoke
        </Button>
      ),
  },
];
