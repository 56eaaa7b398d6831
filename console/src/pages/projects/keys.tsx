import { Button, Group, Menu, Stack, Text } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { useMay } from '../../api/session.ts';
import type { Key } from '../../api/admin-types.ts';
import { useList } from '../../api/use-list.ts';
import { DataTable, numeric, type Columns } from '../../ui/data-table.tsx';
import { creditsCell, money, number } from '../../ui/format.ts';
import { MoreIcon, PlusIcon } from '../../ui/icons.tsx';
import { ResourceLink } from '../../ui/links.tsx';
import { Empty, Loaded } from '../../ui/page.tsx';
import { scopeLabels } from '../../ui/scope-labels.ts';
import { Status, When } from '../../ui/values.tsx';
import { KeyActionDialog, nameOf, type KeyAction } from '../keys/key-action-dialog.tsx';

/** The API keys of a project and their limits. */
export function Keys({ projectId }: { projectId: string }) {
  const { sort } = useSearch({ from: '/projects/$projectId' });
  const navigate = useNavigate();
  const keys = useList('/keys', { project: projectId, sort });
  const onSort = (next: string | undefined): void =>
    void navigate({ to: '/projects/$projectId', params: { projectId }, search: { tab: 'keys', sort: next } });
  const isOwner = useMay('owner');
  const mayChange = useMay('operator');
  const [action, setAction] = useState<KeyAction | null>(null);
  return (
    <Stack>
      {isOwner && (
        <Group justify="flex-end">
          <Button
            leftSection={<PlusIcon size={16} />}
            variant="default"
            onClick={() => setAction({ kind: 'create', key: null })}
          >
            New key
          </Button>
        </Group>
      )}
      <Loaded of={keys}>
        {(rows) => (
          <DataTable
            label="Keys"
            rows={rows}
            columns={columnsOf(mayChange ? setAction : null, isOwner)}
            rowId={(row) => row.key_id}
            more={keys.more}
            order={{ sort, onSort, columns: sortColumns }}
            empty={
              <Empty title="This project has no key">
                {isOwner ? 'Create one: its secret is shown once.' : 'An owner can create one.'}
              </Empty>
            }
          />
        )}
      </Loaded>
      <KeyActionDialog projectId={projectId} action={action} onClose={() => setAction(null)} />
    </Stack>
  );
}

const sortColumns = {
  name: 'name',
  state: 'state',
  today: 'used_today',
  spent: 'spent',
  rpm: 'rpm',
  last_used_at: 'last_used_at',
};

const columnsOf = (act: ((action: KeyAction) => void) | null, isOwner: boolean): Columns<Key> => [
  {
    accessorKey: 'name',
    header: 'Key',
    cell: ({ row: { original: key } }) => (
      <div>
        <Text fz="inherit" fw={500} component="div">
          <ResourceLink of="key" id={key.key_id} name={key.name} />
        </Text>
        {key.prefix !== null && (
          <Text size="xs" c="dimmed" ff="monospace">
            {key.prefix}…{key.last4}
          </Text>
        )}
      </div>
    ),
  },
  { accessorKey: 'state', header: 'State', cell: ({ row: { original } }) => <Status of={original.state} /> },
  {
    id: 'scopes',
    header: 'May use',
    enableSorting: false,
    cell: ({ row: { original: key } }) => (
      <>
        {key.scopes.map((scope) => scopeLabels[scope]).join(', ')}
        <Text component="div" size="xs">
          <ModelNames names={key.models} />
        </Text>
      </>
    ),
  },
  ...limitColumns,
  ...(act === null
    ? []
    : [
        {
          id: 'actions',
          header: 'Actions',
          enableSorting: false,
          cell: ({ row: { original: key } }: { row: { original: Key } }) =>
            key.state === 'revoked' ? null : <KeyMenu target={key} act={act} isOwner={isOwner} />,
        },
      ]),
];

/** Each limit of a key with its use. */
const limitColumns: Columns<Key> = [
  {
    id: 'spent',
    header: 'Credits',
    accessorFn: ({ spent }) => spent,
    cell: ({ row: { original: key } }) => (
      <Uses
        of={[
          ['today', ofLimit(key.used_today, key.budget_daily)],
          ['this month', ofLimit(key.used_this_month, key.budget_monthly)],
          ['in all', ofLimit(key.spent + key.reserved, key.budget)],
        ]}
      />
    ),
    ...numeric,
  },
  {
    accessorKey: 'in_flight',
    header: 'Requests',
    cell: ({ row: { original: key } }) => (
      <Uses
        of={[
          [
            'in flight',
            key.in_flight_max === null
              ? number(key.in_flight)
              : `${number(key.in_flight)} of ${number(key.in_flight_max)}`,
          ],
          ['per minute', key.rpm === null ? 'No limit' : `Up to ${number(key.rpm)}`],
        ]}
      />
    ),
    ...numeric,
  },
  {
    accessorKey: 'last_used_at',
    header: 'Last used',
    cell: ({ row: { original } }) => <When at={original.last_used_at} absent="Never" />,
  },
  {
    accessorKey: 'expires_at',
    header: 'Expires',
    cell: ({ row: { original } }) => <When at={original.expires_at} absent="Never" />,
  },
];

/** What of each limit is used, one below the other. */
const Uses = ({ of }: { of: [words: string, used: React.ReactNode][] }) =>
  of.map(([words, used]) => (
    <div key={words} className="nowrap">
      {used}{' '}
      <Text span size="xs" c="dimmed">
        {words}
      </Text>
    </div>
  ));

function ModelNames({ names }: { names: string[] | null }) {
  if (names === null) return 'All models';
  const [first = 'None', ...others] = names;
  if (others.length === 0) return <span className="breakable">{first}</span>;
  return (
    <details className="detail">
      <summary>
        {first} and {others.length} more
      </summary>
      {others.join(', ')}
    </details>
  );
}

/** What of a limit in credits is used. */
export const ofLimit = (used: number, limit: number | null) =>
  limit === null ? (
    creditsCell(used)
  ) : (
    <span title={`${money(used)} of ${money(limit)}`}>
      {number(used)} of {number(limit)}
    </span>
  );

function KeyMenu({ target, act, isOwner }: { target: Key; act: (action: KeyAction) => void; isOwner: boolean }) {
  return (
    <Menu position="bottom-end" withArrow>
      <Menu.Target>
        <Button variant="subtle" color="gray" size="compact-sm" aria-label={`Actions for ${nameOf(target)}`}>
          <MoreIcon />
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {!target.playground && (
          <Menu.Item onClick={() => act({ kind: 'edit', key: target })}>Change its limits</Menu.Item>
        )}
        {isOwner && !target.playground && (
          <Menu.Item onClick={() => act({ kind: 'rotate', key: target })}>New secret</Menu.Item>
        )}
        <Menu.Item color="red" onClick={() => act({ kind: 'revoke', key: target })}>
          Revoke
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
