import '@mantine/charts/styles.css';
import { BarChart } from '@mantine/charts';
import { Card, Stack, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { read } from '../../api/admin.ts';
import type { Spend } from '../../api/admin-types.ts';
import { ChartTable } from '../../ui/chart-table.tsx';
import { DataTable, figure, type Columns } from '../../ui/data-table.tsx';
import { useZone } from '../../ui/clock.ts';
import { creditsCell, number, zoneName } from '../../ui/format.ts';
import { ResourceLink } from '../../ui/links.tsx';
import { Empty, Loaded } from '../../ui/page.tsx';
import { beginOfDay, dayIn, daysAfter } from '../../ui/zone-days.ts';
import { failedOf } from '../usage/usage-view.ts';

type UsageRow = Spend['data'][number];

const days = 30;

/** The credits that a project used in the last days, by day and by model. */
export default function Usage({ projectId }: { projectId: string }) {
  useZone();
  const zone = zoneName();
  const usage = useQuery({
    queryKey: ['usage', projectId, zone],
    queryFn: async () => {
      const from = beginOfDay(zone, daysAfter(dayIn(zone, Date.now()), 1 - days)) / 1_000;
      const range = { project: projectId, from, tz: zone };
      const [byDay, byModel] = await Promise.all(
        ['day', 'model'].map((group) => read('/usage', { ...range, group_by: group })),
      );
      return { byDay: byDay?.data ?? [], byModel: byModel?.data ?? [] };
    },
  });
  return (
    <Loaded of={usage}>
      {({ byDay, byModel }) =>
        byModel.length === 0 ? (
          <Card withBorder>
            <Empty title={`No request in the last ${days} days`} />
          </Card>
        ) : (
          <Stack>
            <Card withBorder component="section" aria-labelledby="usage-days">
              <Title order={2} size="h4" id="usage-days" mb="md">
                Credits per day ({zone})
              </Title>
              <div aria-hidden="true">
                <BarChart
                  h={220}
                  data={lastDays(byDay, zone)}
                  dataKey="day"
                  series={[{ name: 'Credits', color: 'indigo.5' }]}
                  valueFormatter={creditsCell}
                  tickLine="none"
                  yAxisProps={{ allowDecimals: false, tickFormatter: number }}
                  barChartProps={{ accessibilityLayer: false }}
                />
              </div>
              <ChartTable
                caption="Credits per day"
                first={`Day (${zone})`}
                columns={['Credits']}
                rows={lastDays(byDay, zone).map(({ day, Credits }) => ({ name: day, values: [creditsCell(Credits)] }))}
              />
            </Card>
            <DataTable
              label="Usage by model"
              rows={byModel}
              columns={columns}
              rowId={(row) => row.model ?? ''}
              empty={<Empty title="No request" />}
            />
          </Stack>
        )
      }
    </Loaded>
  );
}

/** One bar for each day, also for those without a request. */
function lastDays(rows: UsageRow[], zone: string): { day: string; Credits: number }[] {
  const creditsByDay = new Map(rows.map(({ day, credits }) => [day, credits]));
  const today = dayIn(zone, Date.now());
  return Array.from({ length: days }, (_, index) => {
    const day = daysAfter(today, index + 1 - days);
    return { day: label.format(Date.parse(day)), Credits: creditsByDay.get(day) ?? 0 };
  });
}

const label = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });

const columns: Columns<UsageRow> = [
  {
    accessorKey: 'model',
    header: 'Model',
    cell: ({ row: { original } }) => (
      <ResourceLink of="model" id={original.model} name={original.model ?? 'Adjustments'} />
    ),
  },
  figure('requests', 'Requests', { of: (row) => row.requests, show: number }),
  figure('failed', 'Failed', { of: (row) => failedOf(row), show: number }),
  figure('credits', 'Credits', { of: (row) => row.credits, show: creditsCell }),
  figure('input_tokens', 'Tokens in', { of: (row) => row.input_tokens, show: number }),
  figure('cached_input_tokens', 'Cached', { of: (row) => row.cached_input_tokens, show: number }),
  figure('output_tokens', 'Tokens out', { of: (row) => row.output_tokens, show: number }),
  figure('reasoning_tokens', 'Reasoning', { of: (row) => row.reasoning_tokens, show: number }),
];
