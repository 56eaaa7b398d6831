import '@mantine/charts/styles.css';
import { BarChart } from '@mantine/charts';
import type { Overview } from '../api/admin-types.ts';
import { ChartTable } from '../ui/chart-table.tsx';
import { number } from '../ui/format.ts';

const hour = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  weekday: 'short',
  timeZone: 'UTC',
});

/** The requests of each hour since yesterday, with a table of the same numbers for those who do not see it. */
export default function TrafficChart({ hours }: { hours: Overview['hours'] }) {
  const data = hours.map(({ at, requests, failed }) => ({
    hour: hour.format(at * 1_000),
    Succeeded: requests - failed,
    Failed: failed,
  }));
  return (
    <>
      <div aria-hidden="true">
        <BarChart
          h={260}
          data={data}
          dataKey="hour"
          type="stacked"
          series={[
            { name: 'Succeeded', color: 'indigo.5' },
            { name: 'Failed', color: 'red.6' },
          ]}
          valueFormatter={number}
          withLegend
          tickLine="none"
          gridAxis="x"
          barChartProps={{ accessibilityLayer: false }}
          yAxisProps={{ allowDecimals: false }}
          xAxisProps={{ interval: 'preserveStartEnd', minTickGap: 40 }}
        />
      </div>
      <ChartTable
        caption="Requests per hour"
        first="Hour (UTC)"
        columns={['Succeeded', 'Failed']}
        rows={data.map((row) => ({ name: row.hour, values: [row.Succeeded, row.Failed] }))}
      />
    </>
  );
}
