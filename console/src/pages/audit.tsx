import { Button, Code, Group } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import type { AuditEntry } from '../api/admin-types.ts';
import { useList } from '../api/use-list.ts';
import { sessionQuery } from '../api/session.ts';
import { CsvButton } from '../ui/csv-button.tsx';
import { DataTable, type Columns } from '../ui/data-table.tsx';
import { TextFilter } from '../ui/filters.tsx';
import { Actor, kindOf, PageLink, ResourceLink } from '../ui/links.tsx';
import { Empty, Loaded, Page } from '../ui/page.tsx';
import { RangeFilter } from '../ui/range-filter.tsx';
import { useListView } from '../ui/use-list-view.ts';
import { useNarrowed } from '../ui/use-narrowed.ts';
import { When } from '../ui/values.tsx';
import { AuditChange } from './audit-change.tsx';

/** Who changed what. */
export default function Audit() {
  const search = useSearch({ from: '/audit' });
  const entries = useList('/audit', search);
  const { show, filter, order, isFiltered } = useListView('/audit', search, sortColumns);
  useNarrowed(entries.error, search, show);
  const { data: session } = useQuery(sessionQuery);
  return (
    <Page
      title="Audit"
      about="Every change by an operator, and every look at a secret or at a client's content."
      actions={<CsvButton path="/audit" filters={search} name="audit" />}
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
        <RangeFilter value={search} onChange={show} />
        {session && (
          <Button variant="default" onClick={() => filter('by')(session.actor)}>
            My changes
          </Button>
        )}
      </Group>
      <Loaded of={entries}>
        {(rows) => (
          <DataTable
            label="Audit log"
            rows={rows}
            columns={columns}
            rowId={(row) => String(row.id)}
            more={entries.more}
            order={order}
            empty={<Empty title={isFiltered ? 'No entry matches' : 'No change yet'} />}
          />
        )}
      </Loaded>
    </Page>
  );
}

/** What a change is about. Those of the catalog name a model or all of them. */
function Subject({ of: { subject, action } }: { of: AuditEntry }) {
  if (subject === 'catalog')
    return (
      <PageLink to="/models" fz="inherit">
        catalog
      </PageLink>
    );
  return <ResourceLink of={action === 'catalog.set' ? 'model' : kindOf(subject)} id={subject} />;
}

const sortColumns = { at: 'at', actor: 'actor', action: 'action', subject: 'subject' };

const columns: Columns<AuditEntry> = [
  { accessorKey: 'at', header: 'When', cell: ({ row: { original } }) => <When at={original.at} /> },
  {
    accessorKey: 'actor',
    header: 'Who',
    cell: ({ row: { original } }) => <Actor of={original.actor} />,
  },
  { accessorKey: 'action', header: 'Action', cell: ({ row: { original } }) => <Code>{original.action}</Code> },
  {
    accessorKey: 'subject',
    header: 'About',
    cell: ({ row: { original } }) => (
      <div className="wide">
        <Subject of={original} />
      </div>
    ),
  },
  {
    id: 'change',
    header: 'Change',
    enableSorting: false,
    cell: ({ row: { original } }) => <AuditChange of={original} />,
  },
];
