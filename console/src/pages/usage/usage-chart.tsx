import '@mantine/charts/styles.css';
import { BarChart } from '@mantine/charts';
import type { SpendRow } from '../../api/admin-types.ts';
import { ChartTable } from '../../ui/chart-table.tsx';
import { amountOf, nameIn, periodsOf, type View } from './usage-view.ts';

const colors = ['indigo.6', 'teal.6', 'orange.6', 'grape.6', 'cyan.7', 'pink.6', 'lime.7'];

/** A measure by days or hours, stacked by a dimension, with a table of the same numbers for those who do not see it. */
export default function UsageChart({
  view,
  rows,
  show,
}: {
  view: View;
  rows: SpendRow[];
  show: (amount: number) => string;
}) {
  const { by, interval, measure } = view;
  const groups = Map.groupBy(rows, (row) => nameIn(by, row));
  const total = (name: string): number =>
    (groups.get(name) ?? []).reduce((sum, row) => sum + amountOf[measure](row), 0);
  const isRest = (name: string): boolean => groups.get(name)?.[0]?.is_rest === true;
  const series = [...groups.keys()]
    .toSorted((a, b) => Number(isRest(a)) - Number(isRest(b)) || total(b) - total(a))
    // Names may have dots, which the chart would read as paths.
    .map((name, index) => ({
      name: `s${index}`,
      label: name,
      color: isRest(name) ? 'gray.5' : (colors[index] ?? 'gray.6'),
    }));
  const bars = periodsOf(view).map((period) => ({
    period: labelOf(period),
    ...Object.fromEntries(series.map(({ name, label }) => [name, amountIn(groups.get(label) ?? [], period, view)])),
  })) as { period: string; [name: string]: string | number }[];
  return (
    <>
      <div aria-hidden="true">
        <BarChart
          h={280}
          type="stacked"
          data={bars}
          dataKey="period"
          series={series}
          valueFormatter={show}
          withLegend
          legendProps={{ verticalAlign: 'bottom' }}
          tickLine="none"
          gridAxis="x"
          xAxisProps={{ interval: 'preserveStartEnd', minTickGap: 30 }}
          yAxisProps={{ width: 90 }}
          barChartProps={{ accessibilityLayer: false, stackOffset: 'sign' }}
        />
      </div>
      <ChartTable
        caption={`Usage by ${interval} and ${by}`}
        first={`${interval === 'hour' ? 'Hour' : 'Day'} (${view.zone})`}
        columns={series.map(({ label }) => label)}
        rows={bars.map((bar) => ({ name: bar.period, values: series.map(({ name }) => show(Number(bar[name]))) }))}
      />
    </>
  );
}

const amountIn = (rows: readonly SpendRow[], period: string, { measure }: View): number =>
  rows.filter(({ day, hour }) => (hour ?? day) === period).reduce((sum, row) => sum + amountOf[measure](row), 0);

const dayName = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });

/** `3 Nov`, or `3 Nov 14:00` for an hour. */
function labelOf(period: string): string {
  const day = dayName.format(Date.parse(`${period.slice(0, 10)}T00:00Z`));
  return period.length > 10 ? `${day} ${period.slice(11)}` : day;
}
