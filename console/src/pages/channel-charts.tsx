import '@mantine/charts/styles.css';
import { BarChart, LineChart } from '@mantine/charts';
import { Stack, Title } from '@mantine/core';
import type { ChannelHistory, HistoryPoint } from '../api/admin-types.ts';
import { ChartTable } from '../ui/chart-table.tsx';
import { milliseconds, number, percent } from '../ui/format.ts';
import type { ReactNode } from 'react';

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const dayAndClock = new Intl.DateTimeFormat('en-GB', { weekday: 'short', hour: '2-digit', minute: '2-digit' });

const failedOf = ({ transient, unknown }: HistoryPoint): number => transient + unknown;

/** Attempts, error rate and latency of a channel, with a table of the same numbers for those who do not see the charts. */
export default function ChannelCharts({ history: { data, hours } }: { history: ChannelHistory }) {
  const format = hours > 24 ? dayAndClock : clock;
  const rows = data.map((point) => ({ time: format.format(point.at * 1_000), ...figuresOf(point) }));
  const shared = {
    h: 200,
    data: rows,
    dataKey: 'time',
    withLegend: true,
    tickLine: 'none',
    gridAxis: 'x',
    xAxisProps: { interval: 'preserveStartEnd', minTickGap: 40 },
  } as const;
  const line = { ...shared, connectNulls: false, curveType: 'linear', dotProps: { r: 2 } } as const;
  return (
    <Stack gap="lg">
      <Chart title="Attempts">
        <BarChart
          {...shared}
          type="stacked"
          series={[
            { name: 'Succeeded', color: 'indigo.5' },
            { name: 'Refused', color: 'yellow.6' },
            { name: 'Failed', color: 'red.6' },
          ]}
          valueFormatter={number}
          barChartProps={{ accessibilityLayer: false }}
          yAxisProps={{ allowDecimals: false }}
        />
      </Chart>
      <Chart title="Error rate">
        <LineChart
          {...line}
          series={[{ name: 'Error rate', color: 'red.6' }]}
          valueFormatter={percent}
          lineChartProps={{ accessibilityLayer: false }}
          yAxisProps={{ domain: [0, 1] }}
        />
      </Chart>
      <Chart title="Latency of the successful attempts">
        <LineChart
          {...line}
          series={[
            { name: 'Median', color: 'indigo.5' },
            { name: 'Slowest 5%', color: 'grape.5' },
          ]}
          valueFormatter={milliseconds}
          lineChartProps={{ accessibilityLayer: false }}
          yAxisProps={{ width: 70 }}
        />
      </Chart>
      <ChartTable
        caption="Attempts, error rate and latency"
        first="Time"
        columns={['Succeeded', 'Refused', 'Failed', 'Error rate', 'Median', 'Slowest 5%']}
        rows={rows.flatMap(toTableRow)}
      />
    </Stack>
  );
}

const figuresOf = (point: HistoryPoint) => ({
  Succeeded: point.ok,
  Refused: point.refused,
  Failed: failedOf(point),
  'Error rate': point.attempts === 0 ? null : failedOf(point) / point.attempts,
  Median: point.p50_ms,
  'Slowest 5%': point.p95_ms,
});

/** None for a time without attempts. */
function toTableRow(row: { time: string } & ReturnType<typeof figuresOf>) {
  if (row['Error rate'] === null) return [];
  const latency = [row.Median, row['Slowest 5%']].map((ms) => (ms === null ? '–' : milliseconds(ms)));
  const values = [row.Succeeded, row.Refused, row.Failed, percent(row['Error rate']), ...latency];
  return [{ name: row.time, values }];
}

/** A chart with its title. Screen readers read the table instead. */
const Chart = ({ title, children }: { title: string; children: ReactNode }) => (
  <div aria-hidden="true">
    <Title order={3} size="h6" mb="xs">
      {title}
    </Title>
    {children}
  </div>
);
