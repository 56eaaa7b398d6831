import { Button, Group } from '@mantine/core';
import { useSearch } from '@tanstack/react-router';
import { useList } from '../../api/use-list.ts';
import { CsvButton } from '../../ui/csv-button.tsx';
import { DataTable } from '../../ui/data-table.tsx';
import { ChoiceFilter, TextFilter } from '../../ui/filters.tsx';
import { PageLink } from '../../ui/links.tsx';
import { Empty, Loaded, Page } from '../../ui/page.tsx';
import { ChannelFilter, KeyFilter, ModelFilter, ProjectFilter } from '../../ui/picks.tsx';
import { RangeFilter } from '../../ui/range-filter.tsx';
import { useListView } from '../../ui/use-list-view.ts';
import { useNarrowed } from '../../ui/use-narrowed.ts';
import { chosenOutcome, outcomes, outcomeSearch, reasons } from './outcomes.ts';
import { requestColumns, requestSortColumns } from './request-columns.tsx';

/** Chats, pictures and videos: those that run, then those that have ended, newest first. */
export default function RequestList() {
  const view = useRequestView();
  const { search, order } = view;
  const requests = useList('/requests', search);
  useNarrowed(requests.error, search, view.show);
  return (
    <Page
      title="Requests"
      about="Every chat, picture and video whose credits were held, with the channels that were called and why it ended as it did. Prompts and answers of chats are not stored. A request that was refused before its credits were held is found by its id in the search."
      actions={<CsvButton path="/requests" filters={search} name="requests" />}
    >
      <RequestFilters view={view} />
      <Loaded of={requests}>
        {(rows) => (
          <DataTable
            label="Requests"
            rows={rows}
            columns={requestColumns}
            rowId={(row) => row.request_id}
            more={requests.more}
            order={order}
            empty={<None view={view} hasMore={requests.more !== undefined} />}
          />
        )}
      </Loaded>
    </Page>
  );
}

function useRequestView() {
  const search = useSearch({ from: '/requests' });
  return { search, ...useListView('/requests', search, requestSortColumns) };
}
type View = ReturnType<typeof useRequestView>;

function RequestFilters({ view: { search, show, filter } }: { view: View }) {
  return (
    <Group align="flex-end" gap="sm">
      <ChoiceFilter label="Type" value={search.type} onChange={filter('type')} options={types} />
      <ChoiceFilter
        label="Outcome"
        value={chosenOutcome(search)}
        onChange={(chosen) => show({ ...outcomeSearch(chosen) })}
        options={outcomes}
      />
      <ChoiceFilter label="Reason" value={search.reason} onChange={filter('reason')} options={reasons} />
      <ProjectFilter value={search.project} onChange={filter('project')} />
      <KeyFilter value={search.key} onChange={filter('key')} project={search.project} />
      <ModelFilter value={search.model} onChange={filter('model')} />
      <ChannelFilter value={search.channel} onChange={filter('channel')} />
      <RangeFilter value={search} onChange={show} />
      <TextFilter label="Took at least" value={search.min_ms} onChange={filter('min_ms')} placeholder="Milliseconds" />
      <TextFilter
        label="Charged at least"
        value={search.min_credits}
        onChange={filter('min_credits')}
        placeholder="Credits"
      />
    </Group>
  );
}

const types = [
  { value: 'chat', label: 'Chat' },
  { value: 'image', label: 'Picture' },
  { value: 'video', label: 'Video' },
];

/** The gateway compares a limited number of ledger entries for each page, so a page may be empty and not the last one. */
function None({ view: { isFiltered, showAll }, hasMore }: { view: View; hasMore: boolean }) {
  if (hasMore) return <Empty title="None of the newest requests matches">Older ones may: show more.</Empty>;
  if (!isFiltered)
    return (
      <Empty title="No request yet">
        Send the first chat in the <PageLink to="/playground">playground</PageLink>.
      </Empty>
    );
  return (
    <Empty title="No request matches">
      <Button variant="default" size="xs" onClick={showAll}>
        Show all requests
      </Button>
    </Empty>
  );
}
