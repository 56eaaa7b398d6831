import {
  Button,
  Card,
  Group,
  MultiSelect,
  SegmentedControl,
  Select,
  SimpleGrid,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useRef } from 'react';
import { usageMaxDays } from '../../../../src/domain/ledger/usage-range.ts';
import { read } from '../../api/admin.ts';
import { useProjectName } from '../../api/project-name.ts';
import type { Spend } from '../../api/admin-types.ts';
import { useZone } from '../../ui/clock.ts';
import { saveCsv } from '../../ui/csv.ts';
import { cost, creditsCell, margin, number, usd, words, zoneName } from '../../ui/format.ts';
import { DownloadIcon } from '../../ui/icons.tsx';
import { Empty, Loaded, Loading, Page } from '../../ui/page.tsx';
import { CountedFrom } from '../../ui/values.tsx';
import { usageCsv, usageCsvName } from './usage-csv.ts';
import { UsageRows } from './usage-rows.tsx';
import {
  dimensions,
  failedOf,
  inputsOf,
  mayBeHourly,
  measures,
  ranges,
  succeededOf,
  viewOf,
  type Measure,
  type UsageSearch,
  type View,
} from './usage-view.ts';

// The library of the charts is large, and the numbers are there without it.
const UsageChart = lazy(() => import('./usage-chart.tsx'));
/** As many as the chart has colors. */
const chartGroups = 7;

/** What requests came to and earned in any range, of all projects or of one. */
export default function UsagePage() {
  const search = useSearch({ from: '/usage' });
  const view = useZonedView(search);
  const inputs = inputsOf(view);
  const common = { placeholderData: keepPreviousData, refetchInterval: 60_000 };
  const topBy = view.measure === 'margin' ? 'credits' : view.measure;
  const chart = useQuery({
    queryKey: ['usage', 'chart', inputs, view.interval, view.by, topBy],
    queryFn: () =>
      read('/usage', { ...inputs, group_by: `${view.interval},${view.by}`, top: chartGroups, top_by: topBy }),
    ...common,
  });
  const table = useQuery({
    queryKey: ['usage', 'rows', inputs, view.rows],
    queryFn: () => read('/usage', { ...inputs, group_by: view.rows.join(',') }),
    ...common,
  });
  return (
    <Page
      title="Usage"
      about={`What requests cost and earned, by the time of their end. ${aboutDays(view)} Live for today: it is counted up to now.`}
      actions={
        <Button
          variant="default"
          leftSection={<DownloadIcon size={16} />}
          disabled={table.data === undefined || table.isPlaceholderData}
          onClick={() => table.data && saveCsv(usageCsvName(view), usageCsv(view, table.data.data))}
        >
          Download CSV
        </Button>
      }
    >
      <Controls view={view} search={search} />
      <Loaded of={chart}>
        {({ data, total, unknown_costs_from: from }) => (
          <>
            <Totals total={total} />
            <CountedFrom at={from} />
            <Card withBorder component="section" aria-labelledby="usage-chart">
              <Title order={2} size="h4" id="usage-chart" mb="md">
                {labels[view.measure]} per {view.interval} by {view.by}
              </Title>
              {data.length === 0 ? (
                <Empty title="No request in this range" />
              ) : (
                <Suspense fallback={<Loading label="Drawing the chart" />}>
                  <UsageChart view={view} rows={data} show={shown[view.measure]} />
                </Suspense>
              )}
            </Card>
          </>
        )}
      </Loaded>
      <Loaded of={table}>{({ data }) => <UsageRows view={view} rows={data} />}</Loaded>
    </Page>
  );
}

/** The view of the address, by the days of the viewer's zone. Another choice of the zone also changes a view that has one in its address. */
function useZonedView(search: UsageSearch): View {
  const navigate = useNavigate();
  const chosen = useZone();
  const shown = useRef(chosen);
  useEffect(() => {
    if (shown.current === chosen) return;
    shown.current = chosen;
    if (search.tz !== undefined) void navigate({ to: '/usage', search: { ...search, tz: zoneName() }, replace: true });
  }, [chosen, search, navigate]);
  return viewOf(search, zoneName());
}

const aboutDays = ({ zone, isTooLongForZone }: View): string =>
  isTooLongForZone
    ? `Days are UTC, because the range is longer than ${usageMaxDays} days.`
    : `Days are those of ${zone}.`;

const labels: Record<Measure, string> = {
  credits: 'Credits',
  cost: 'Cost',
  margin: 'Margin',
  tokens: 'Tokens',
  requests: 'Requests',
  failed: 'Failures',
};
const shown: Record<Measure, (amount: number) => string> = {
  credits: creditsCell,
  cost: usd,
  margin: usd,
  tokens: number,
  requests: number,
  failed: number,
};

/** What the address says, as fields. Each change is a step of the history. */
function Controls({ view, search }: { view: View; search: UsageSearch }) {
  const navigate = useNavigate();
  const projectName = useProjectName(view.project);
  // The zone is in the address, so that everyone who opens it sees the same days.
  const change = (changes: UsageSearch): void =>
    void navigate({ to: '/usage', search: { ...search, tz: search.tz ?? zoneName(), ...changes } });
  const setDay = (name: 'from' | 'to') => (event: React.ChangeEvent<HTMLInputElement>) => {
    const day = event.currentTarget.value;
    if (day !== '') change({ from: view.from, to: view.to, [name]: day, range: undefined });
  };
  const isChosen = search.from !== undefined;
  return (
    <Card withBorder component="section" aria-label="View">
      <Group align="flex-end" gap="sm">
        <Select
          label="Range"
          data={[...ranges, ...(isChosen ? [{ value: 'dates', label: 'From … to' }] : [])]}
          value={isChosen ? 'dates' : (search.range ?? '30')}
          onChange={(range) => range !== null && range !== 'dates' && change({ range, from: undefined, to: undefined })}
          allowDeselect={false}
          w={150}
        />
        <TextInput type="date" label="From" value={view.from} max={view.to} onChange={setDay('from')} w={150} />
        <TextInput type="date" label="To" value={view.to} min={view.from} onChange={setDay('to')} w={150} />
        <SegmentedControl
          aria-label="Interval"
          data={[
            { value: 'day', label: 'By day' },
            { value: 'hour', label: 'By hour', disabled: !mayBeHourly(view) },
          ]}
          value={view.interval}
          onChange={(interval) => change({ interval })}
        />
        <Select
          label="Measure"
          data={measures.map((value) => ({ value, label: labels[value] }))}
          value={view.measure}
          onChange={(measure) => measure !== null && change({ measure })}
          allowDeselect={false}
          w={140}
        />
        <Select
          label="Stack by"
          data={dimensions.map((value) => ({ value, label: words(value) }))}
          value={view.by}
          onChange={(by) => by !== null && change({ by })}
          allowDeselect={false}
          w={140}
        />
        <MultiSelect
          label="Rows by"
          searchable
          data={[view.interval, ...dimensions].map((value) => ({ value, label: words(value) }))}
          value={view.rows}
          onChange={(rows) => change({ rows: rows.length === 0 ? undefined : rows.join(',') })}
          miw={180}
        />
        {view.project !== undefined && (
          <Button variant="default" onClick={() => change({ project: undefined })}>
            Only {projectName}: show all projects
          </Button>
        )}
      </Group>
      {!mayBeHourly(view) && (
        <Text size="xs" c="dimmed" mt="xs">
          Hours are shown for up to seven days.
        </Text>
      )}
    </Card>
  );
}

function Totals({ total }: { total: Spend['total'] }) {
  const sums: [label: string, value: string, isBad?: boolean][] = [
    ['Credits charged', creditsCell(total.credits)],
    ['Cost', cost(total.cost_micro_usd, total.unknown_costs)],
    ['Margin', margin(total.margin_micro_usd, total.unknown_costs), total.margin_micro_usd < 0],
    ['Requests · succeeded', `${number(total.requests)} · ${number(succeededOf(total))}`],
    ['Failed · refused · left', [failedOf(total), total.refused, total.left].map(number).join(' · ')],
    ['Tokens in · out', `${number(total.input_tokens)} · ${number(total.output_tokens)}`],
  ];
  return (
    <SimpleGrid cols={{ base: 2, md: 3, xl: 6 }}>
      {sums.map(([label, value, isBad = false]) => (
        <Card key={label} withBorder padding="md">
          <Text size="sm" c="dimmed">
            {label}
          </Text>
          <Text className="figure" {...(isBad && { c: 'red' })}>
            {value}
          </Text>
        </Card>
      ))}
    </SimpleGrid>
  );
}
