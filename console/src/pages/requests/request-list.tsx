import { Button, Group, Text } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { RequestRow } from '../../api/admin-types.ts';
import { useList } from '../../api/use-list.ts';
import { DataTable, numeric, type Columns } from '../../ui/data-table.tsx';
import { ChoiceFilter, TextFilter } from '../../ui/filters.tsx';
import { creditsCell, milliseconds, words } from '../../ui/format.ts';
import { PageLink } from '../../ui/links.tsx';
import { Empty, Loaded, Page } from '../../ui/page.tsx';
import { Status, When } from '../../ui/values.tsx';
import { outcomeName, outcomes, reasons } from './outcomes.ts';

/** Chats, pictures and videos: those that run, then those that have ended, newest first. */
export default function RequestList() {
  const search = useSearch({ from: '/requests' });
  const navigate = useNavigate();
  const chats = useList('/requests', search);
  const filter = (name: keyof typeof search) => (value: string | undefined) =>
    void navigate({ to: '/requests', search: { ...search, [name]: value }, replace: true });
  const isFiltered = Object.values(search).some(Boolean);
  return (
    <Page
      title="Requests"
      about="Every chat, picture and video whose credits were held, with the channels that were called and why it ended as it did. Prompts and answers of chats are not stored."
    >
      <Group align="flex-end" gap="sm">
        <ChoiceFilter label="Type" value={search.type} onChange={filter('type')} options={types} />
        <ChoiceFilter label="Outcome" value={search.outcome} onChange={filter('outcome')} options={outcomes} />
        <ChoiceFilter label="Reason" value={search.reason} onChange={filter('reason')} options={reasons} />
        <TextFilter label="Model" value={search.model} onChange={filter('model')} placeholder="gpt-6-luna" />
        <TextFilter label="Channel" value={search.channel} onChange={filter('channel')} placeholder="Name or id" />
        <TextFilter label="Project" value={search.project} onChange={filter('project')} placeholder="prj_…" />
        <TextFilter label="Key" value={search.key} onChange={filter('key')} placeholder="key_…" />
        <TextFilter
          label="Began after"
          value={search.created_after}
          onChange={filter('created_after')}
          placeholder="2h (ago) or 2026-11-26"
        />
        <TextFilter
          label="Began before"
          value={search.created_before}
          onChange={filter('created_before')}
          placeholder="2h (ago) or 2026-11-26"
        />
        <TextFilter
          label="Took at least"
          value={search.min_ms}
          onChange={filter('min_ms')}
          placeholder="Milliseconds"
        />
        <TextFilter
          label="Charged at least"
          value={search.min_credits}
          onChange={filter('min_credits')}
          placeholder="Credits"
        />
      </Group>
      <Loaded of={chats}>
        {(rows) => (
          <DataTable
            label="Requests"
            rows={rows}
            columns={columns}
            rowId={(row) => row.request_id}
            more={chats.more}
            empty={<None isFiltered={isFiltered} hasMore={chats.more !== undefined} />}
          />
        )}
      </Loaded>
    </Page>
  );
}

const types = [
  { value: 'chat', label: 'Chat' },
  { value: 'image', label: 'Picture' },
  { value: 'video', label: 'Video' },
];

/** The gateway compares a limited number of ledger entries for each page, so a page may be empty and not the last one. */
function None({ isFiltered, hasMore }: { isFiltered: boolean; hasMore: boolean }) {
  const navigate = useNavigate();
  if (hasMore) return <Empty title="None of the newest requests matches">Older ones may: show more.</Empty>;
  if (!isFiltered)
    return (
      <Empty title="No request yet">
        Send the first chat in the <PageLink to="/playground">playground</PageLink>.
      </Empty>
    );
  return (
    <Empty title="No request matches">
      <Button variant="default" size="xs" onClick={() => void navigate({ to: '/requests', search: {} })}>
        Show all requests
      </Button>
    </Empty>
  );
}

/** What was charged, without what was given back later. */
const paidFor = ({ outcome, credits }: RequestRow): number =>
  outcome === 'refunded' ? 0 : credits.charged - credits.refunded;

const columns: Columns<RequestRow> = [
  {
    accessorKey: 'request_id',
    header: 'Request',
    enableSorting: false,
    cell: ({ row: { original: chat } }) => (
      <PageLink to="/requests/$requestId" params={{ requestId: chat.request_id }} ff="monospace" size="sm">
        {chat.request_id.slice(0, 18)}…
      </PageLink>
    ),
  },
  { id: 'type', header: 'Type', accessorFn: ({ type }) => words(type ?? 'media') },
  {
    accessorKey: 'model',
    header: 'Model',
    cell: ({ row: { original: chat } }) => (
      <PageLink to="/models/$modelId" params={{ modelId: chat.model }} size="sm">
        {chat.model}
      </PageLink>
    ),
  },
  {
    id: 'project',
    header: 'Project',
    accessorFn: (chat) => chat.project_name || chat.project_id,
    cell: ({ row: { original: chat } }) => (
      <PageLink to="/projects/$projectId" params={{ projectId: chat.project_id }} size="sm">
        {chat.project_name || chat.project_id}
      </PageLink>
    ),
  },
  {
    accessorKey: 'outcome',
    header: 'Outcome',
    cell: ({ row: { original: chat } }) => (
      <>
        <Status of={outcomeName(chat.outcome)} />
        {chat.reason && (
          <Text size="xs" c="dimmed">
            {words(chat.reason)}
          </Text>
        )}
      </>
    ),
  },
  {
    id: 'channels',
    header: 'Channels',
    enableSorting: false,
    cell: ({ row: { original: chat } }) => <span className="breakable">{chat.channels.join(', ') || 'Not known'}</span>,
  },
  {
    id: 'credits',
    header: 'Credits',
    accessorFn: paidFor,
    cell: ({ row: { original } }) => creditsCell(paidFor(original)),
    ...numeric,
  },
  {
    id: 'took',
    header: 'Took',
    accessorFn: (chat) => chat.took_ms ?? Infinity,
    cell: ({ row: { original: chat } }) => (
      <span className="nowrap">{chat.took_ms === null ? 'Not ended' : milliseconds(chat.took_ms)}</span>
    ),
    ...numeric,
  },
  { accessorKey: 'created_at', header: 'Began', cell: ({ row: { original: chat } }) => <When at={chat.created_at} /> },
];
