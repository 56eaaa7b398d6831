import { Card, SimpleGrid, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { RangeOverview } from '../../api/admin-types.ts';
import { cost, margin, milliseconds, money, number, percent } from '../../ui/format.ts';
import { PageLink } from '../../ui/links.tsx';

type Traffic = RangeOverview['now'];

/** The requests of a range, as the address of a list names it. */
export const requestsOf = ({ from, to }: Pick<RangeOverview, 'from' | 'to'>) => ({
  created_after: String(from),
  created_before: String(to),
});

/** The figures of a range beside those of the one before. Each opens the list behind it, in the same range. */
export function RangeFigures({ of }: { of: RangeOverview }) {
  const { now, before } = of;
  const within = requestsOf(of);
  const requests = (label: string, outcome?: string): ReactNode => (
    <PageLink to="/requests" search={{ ...within, ...(outcome !== undefined && { outcome }) }}>
      {label}
    </PageLink>
  );
  const usage = (label: string, measure: string): ReactNode => (
    <PageLink to="/usage" search={{ range: of.range, measure }}>
      {label}
    </PageLink>
  );
  const [success, successBefore] = [shareOf(now), shareOf(before)];
  const failed = failedOf(now);
  return (
    <SimpleGrid cols={{ base: 2, md: 4 }} spacing="md">
      <Figure label={requests('Requests')} value={number(now.requests)} trend={changeOf(of, 'requests')} />
      <Figure
        label={requests('Success', 'succeeded')}
        value={success === null ? 'No request' : percent(success)}
        trend={`without refusals and clients that left; ${successBefore === null ? 'none' : percent(successBefore)} in the ${of.range} before`}
        bad={success !== null && success < 0.95}
      />
      <Figure
        label={requests('Failed', 'failed')}
        value={number(failed)}
        trend={
          <>
            and {requests(`${number(now.refused)} refused by providers`, 'refused')},{' '}
            {requests(`${number(now.left)} left by clients`, 'left')}
          </>
        }
        bad={failed > 0}
      />
      <Figure
        label={usage('Margin', 'margin')}
        value={margin(now.margin_micro_usd, now.unknown_costs)}
        trend={usage(`cost ${cost(now.cost_micro_usd, now.unknown_costs)}`, 'cost')}
        bad={now.margin_micro_usd < 0}
      />
      <Figure
        label={
          <PageLink to="/requests" search={{ ...within, type: 'chat', outcome: 'succeeded' }}>
            Median time of chats
          </PageLink>
        }
        value={ms(now.chat_p50_ms)}
        trend={`${ms(before.chat_p50_ms, 'None')} in the ${of.range} before`}
      />
      <Figure
        label={
          <PageLink to="/tasks" search={{ ...within, status: 'succeeded' }}>
            Median time of media
          </PageLink>
        }
        value={ms(now.media_p50_ms)}
        trend={`${ms(before.media_p50_ms, 'None')} in the ${of.range} before`}
      />
      <Figure
        label={
          <PageLink
            to="/requests"
            search={{ ...within, ...(now.p95_ms !== null && { min_ms: String(Math.floor(now.p95_ms)) }) }}
          >
            Slowest 5% of all
          </PageLink>
        }
        value={ms(now.p95_ms)}
        trend={`${ms(before.p95_ms, 'None')} in the ${of.range} before`}
      />
      <Figure
        label={usage('Credits charged', 'credits')}
        value={number(now.credits)}
        trend={`${money(now.credits)}, ${changeOf(of, 'credits').toLowerCase()}`}
      />
    </SimpleGrid>
  );
}

const failedOf = ({ failed, refused, left }: Traffic): number => failed - refused - left;

/** Neither a refusal nor a client that left says anything about the gateway. */
function shareOf(traffic: Traffic): number | null {
  const judged = traffic.succeeded + failedOf(traffic);
  return judged === 0 ? null : traffic.succeeded / judged;
}

const ms = (value: number | null, absent = 'No request'): string => (value === null ? absent : milliseconds(value));

/** By the length of each range, because the last bar is not over. */
function changeOf(
  { now, before, from, to, before_from: earlier, range }: RangeOverview,
  member: 'requests' | 'credits',
) {
  if (before[member] === 0) return `None in the ${range} before`;
  const share = (now[member] / (to - from)) * ((from - earlier) / before[member]) - 1;
  const sign = share > 0 ? '+' : share < 0 ? '−' : '±';
  return `${sign}${number(Math.abs(Math.round(100 * share)))}% on the ${range} before`;
}

interface FigureProps {
  label: ReactNode;
  value: string;
  trend: ReactNode;
  bad?: boolean;
}

function Figure({ label, value, trend, bad = false }: FigureProps) {
  return (
    <Card withBorder padding="md" className="opener">
      <Text size="sm" component="div" className="opener-name">
        {label}
      </Text>
      <Text className="figure" {...(bad && { c: 'red' })}>
        {value}
      </Text>
      <Text size="xs" c="dimmed" component="div">
        {trend}
      </Text>
    </Card>
  );
}
