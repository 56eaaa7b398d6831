import { Code, Group } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { AuditEntry } from '../api/admin-types.ts';
import { useList } from '../api/use-list.ts';
import { DataTable, type Columns } from '../ui/data-table.tsx';
import { TextFilter } from '../ui/filters.tsx';
import { Empty, Loaded, Page } from '../ui/page.tsx';
import { When } from '../ui/values.tsx';
import { AuditChange } from './audit-change.tsx';

/** Who changed what. */
export default function Audit() {
  const search = useSearch({ from: '/audit' });
  const navigate = useNavigate();
  const entries = useList('/audit', search);
  const filter = (name: keyof typeof search) => (value: string | undefined) =>
    void navigate({ to: '/audit', search: { ...search, [name]: value }, replace: true });
  return (
    <Page
      title="Audit"
      about="Every change by an operator, and every look at a secret or at a client's content, newest first."
    >
      <Group align="flex-end" gap="sm">
        <TextFilter label="Who" value={search.by} onChange={filter('by')} />
        <TextFilter label="Action" value={search.action} onChange={filter('action')} placeholder="keys.create" />
        <TextFilter
          label="About"
          value={search.subject}
          onChange={filter('subject')}
          placeholder="prj_…, key_…, task_…"
        />
      </Group>
      <Loaded of={entries}>
        {(rows) => (
          <DataTable
            label="Audit log"
            rows={rows}
            columns={columns}
            rowId={(row) => String(row.id)}
            more={entries.more}
            empty={<Empty title={Object.values(search).some(Boolean) ? 'No entry matches' : 'No change yet'} />}
          />
        )}
      </Loaded>
    </Page>
  );
}

const columns: Columns<AuditEntry> = [
  { accessorKey: 'at', header: 'When', cell: ({ row: { original } }) => <When at={original.at} /> },
  {
    accessorKey: 'actor',
    header: 'Who',
    cell: ({ row: { original } }) => <div className="who">{original.actor}</div>,
  },
  { accessorKey: 'action', header: 'Action', cell: ({ row: { original } }) => <Code>{original.action}</Code> },
  {
    accessorKey: 'subject',
    header: 'About',
    cell: ({ row: { original } }) => <div className="wide">{original.subject}</div>,
  },
  {
    id: 'change',
    header: 'Change',
    enableSorting: false,
    cell: ({ row: { original } }) => <AuditChange of={original} />,
  },
];
