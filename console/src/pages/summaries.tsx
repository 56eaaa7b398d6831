import { Button, Card, Group, SegmentedControl, Select, SimpleGrid, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { summaryQuery, thisMonth } from '../api/queries.ts';
import { ApiError } from '../api/request.ts';
import type { Summary, SummaryRow } from '../api/admin-types.ts';
import { DataTable, figure, numeric, type Columns } from '../ui/data-table.tsx';
import { saveCsv } from '../ui/csv.ts';
import { cost, creditsCell, margin, number, percent, time, usd } from '../ui/format.ts';
import { DownloadIcon } from '../ui/icons.tsx';
import { ResourceLink } from '../ui/links.tsx';
import { Empty, ErrorAlert, Loading, Page } from '../ui/page.tsx';
import { CountedFrom } from '../ui/values.tsx';
import { lastMonths, totalBy, type Group as GroupName, type Line } from './summary-lines.ts';

/** What a month earned, by model, channel or project. */
export default function Summaries() {
  const months = lastMonths(13);
  // A page that stays open past midnight keeps its month.
  const [usualMonth] = useState(thisMonth);
  const { month = usualMonth } = useSearch({ from: '/summaries' });
  const navigate = useNavigate();
  const [by, setBy] = useState<GroupName>('model');
  const summary = useQuery(summaryQuery(month));
  const isMissing = summary.error instanceof ApiError && [404, 409].includes(summary.error.status);
  return (
    <Page
      title="Summaries"
      about="What each month earned. A day is counted by the nightly maintenance."
      actions={
        summary.data && (
          <Button
            variant="default"
            leftSection={<DownloadIcon size={16} />}
            onClick={() => saveCsv(`tollgate-${month}.csv`, csvRows(summary.data))}
          >
            Download CSV
          </Button>
        )
      }
    >
      <Group align="flex-end">
        <Select
          label="Month (UTC)"
          data={months}
          value={month}
          onChange={(value) =>
            value !== null && void navigate({ to: '/summaries', search: { month: value }, replace: true })
          }
          allowDeselect={false}
          w={{ base: '100%', xs: 200 }}
        />
        <SegmentedControl
          aria-label="Sum up by"
          data={[
            { value: 'model', label: 'By model' },
            { value: 'channel', label: 'By channel' },
            { value: 'project', label: 'By project' },
          ]}
          value={by}
          onChange={setBy}
        />
      </Group>
      {summary.data ? (
        <Month summary={summary.data} by={by} />
      ) : isMissing ? (
        <Card withBorder>
          <Empty title="There is no summary of this month">
            The job scheduled-maintenance builds it every night. You can run it now on the page Jobs.
          </Empty>
        </Card>
      ) : summary.error ? (
        <ErrorAlert error={summary.error} retry={() => void summary.refetch()} />
      ) : (
        <Loading />
      )}
    </Page>
  );
}

function Month({ summary, by }: { summary: Summary; by: GroupName }) {
  const lines = useMemo(() => totalBy(summary.data, by), [summary, by]);
  const total = totalBy(summary.data, 'all')[0];
  return (
    <>
      <SimpleGrid cols={{ base: 2, md: 4 }}>
        <Sum label="Requests" value={number(total?.requests ?? 0)} />
        <Sum label="Credits charged" value={creditsCell(total?.credits_charged ?? 0)} />
        <Sum label="Cost" value={cost(total?.cost_micro_usd ?? 0, total?.unknown_costs ?? 0)} />
        <Sum label="Margin" value={margin(total?.margin_micro_usd ?? 0, total?.unknown_costs ?? 0)} />
      </SimpleGrid>
      <DataTable
        label={`Sums by ${by}`}
        rows={lines}
        columns={columnsOf(by)}
        rowId={(row) => row.id || row.name}
        empty={
          summary.frozen_at === null ? (
            <Empty title="No request of this month has been counted yet">
              The page Usage has the requests that the next maintenance counts.
            </Empty>
          ) : (
            <Empty title="There were no requests in this month" />
          )
        }
      />
      <Text size="sm" c="dimmed">
        {summary.frozen_at === null
          ? `Built ${time(summary.built_at)}. It is built again every night until the 3rd of the next month.`
          : `Final since ${time(summary.frozen_at)}.`}{' '}
        A credit is worth {usd(summary.credit_value_micro_usd)}.
      </Text>
      <CountedFrom at={summary.unknown_costs_from} />
    </>
  );
}

function Sum({ label, value }: { label: string; value: string }) {
  return (
    <Card withBorder padding="md">
      <Text size="sm" c="dimmed">
        {label}
      </Text>
      <Text className="figure">{value}</Text>
    </Card>
  );
}

const titles: Record<GroupName, string> = { model: 'Model', channel: 'Channel', project: 'Project', all: 'All' };

const columnsOf = (by: GroupName): Columns<Line> => [
  {
    id: 'name',
    accessorFn: ({ name }) => name,
    header: titles[by],
    cell: ({ row: { original } }) => (
      <ResourceLink of={by === 'all' ? null : by} id={original.id} name={original.name} />
    ),
  },
  figure('requests', 'Requests', { of: (line) => line.requests, show: number }),
  {
    id: 'success',
    header: 'Success',
    // A client that left says nothing about the gateway.
    accessorFn: (line) => shareOf(line) ?? 0,
    cell: ({ row: { original } }) => {
      const share = shareOf(original);
      return share === null ? 'No request' : percent(share);
    },
    ...numeric,
  },
  figure('left', 'Left by clients', { of: (line) => line.left, show: number }),
  figure('credits', 'Credits', { of: (line) => line.credits_charged, show: creditsCell }),
  figure('cost', 'Cost', { of: (line) => line.cost_micro_usd, show: (micro, line) => cost(micro, line.unknown_costs) }),
  figure('margin', 'Margin', {
    of: (line) => line.margin_micro_usd,
    show: (micro, line) => margin(micro, line.unknown_costs),
  }),
];

const shareOf = ({ requests, successes, left, left_charged: leftCharged }: Line): number | null =>
  requests === left ? null : (successes - leftCharged) / (requests - left);

const csvRows = ({ data }: Summary): (string | number)[][] => [
  [
    'project_id',
    'model',
    'channel',
    'requests',
    'successes',
    'failures',
    'left',
    'left_charged',
    'credits',
    'cost_usd',
    'unknown_costs',
    'margin_usd',
    'input_tokens',
    'output_tokens',
    'cached_input_tokens',
    'cache_write_tokens',
    'cache_write_1h_tokens',
    'reasoning_tokens',
  ],
  ...data.map((row: SummaryRow) => [
    row.project_id,
    row.model,
    row.channel ?? row.channel_id,
    row.requests,
    row.successes,
    row.failures,
    row.left,
    row.left_charged,
    row.credits_charged,
    row.cost_micro_usd / 1e6,
    row.unknown_costs,
    row.margin_micro_usd / 1e6,
    row.input_tokens,
    row.output_tokens,
    row.cached_input_tokens,
    row.cache_write_tokens,
    row.cache_write_1h_tokens,
    row.reasoning_tokens,
  ]),
];
