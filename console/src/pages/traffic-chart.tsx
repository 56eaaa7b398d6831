import '@mantine/charts/styles.css';
import { BarChart } from '@mantine/charts';
import { VisuallyHidden } from '@mantine/core';
import type { Overview } from '../api/admin-types.ts';
import { number } from '../ui/format.ts';

const hour = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', weekday: 'short' });

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
      <VisuallyHidden>
        <table>
          <caption>Requests per hour</caption>
          <thead>
            <tr>
              <th scope="col">Hour</th>
              <th scope="col">Succeeded</th>
              <th scope="col">Failed</th>
            </tr>
          </thead>
          <tbody>
            {data.map((row) => (
              <tr key={row.hour}>
                <th scope="row">{row.hour}</th>
                <td>{row.Succeeded}</td>
                <td>{row.Failed}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </VisuallyHidden>
    </>
  );
}
