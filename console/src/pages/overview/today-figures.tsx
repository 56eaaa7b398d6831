import { Card, SimpleGrid, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Overview } from '../../api/admin-types.ts';
import { milliseconds, money, number, percent, usd } from '../../ui/format.ts';
import { PageLink } from '../../ui/links.tsx';

type Day = Overview['today'];

/** The figures of today beside those of yesterday. Each opens the list behind it. */
export function TodayFigures({ today, yesterday, at }: { today: Day; yesterday: Day; at: number }) {
  const since = { created_after: String(Math.floor(at / 86_400) * 86_400) };
  const failed = today.failed - today.refused - today.left;
  // Neither a refusal nor a client that left says anything about the gateway.
  const share = ({ succeeded, failed: all, refused, left }: Day): number | null =>
    succeeded + all - refused - left === 0 ? null : succeeded / (succeeded + all - refused - left);
  const [success, successBefore] = [share(today), share(yesterday)];
  return (
    <SimpleGrid cols={{ base: 2, md: 4 }} spacing="md">
      <Figure
        label={
          <PageLink to="/requests" search={since}>
            Requests
          </PageLink>
        }
        value={number(today.requests)}
        trend={change(today.requests, yesterday.requests)}
      />
      <Figure
        label={
          <PageLink to="/requests" search={{ ...since, outcome: 'succeeded' }}>
            Success
          </PageLink>
        }
        value={success === null ? 'No request' : percent(success)}
        trend={`without refusals and clients that left; ${successBefore === null ? 'none yesterday' : `${percent(successBefore)} yesterday`}`}
        bad={success !== null && success < 0.95}
      />
      <Figure
        label={
          <PageLink to="/requests" search={{ ...since, outcome: 'refunded' }}>
            Failed
          </PageLink>
        }
        value={number(failed)}
        trend={`and ${number(today.refused)} refused by providers, ${number(today.left)} left by clients`}
        bad={failed > 0}
      />
      <Figure
        label={
          <PageLink to="/usage" search={{}}>
            Margin
          </PageLink>
        }
        value={usd(today.margin_micro_usd)}
        trend={`cost ${usd(today.cost_micro_usd)}`}
        bad={today.margin_micro_usd < 0}
      />
      <Times today={today} yesterday={yesterday} since={since} />
    </SimpleGrid>
  );
}

interface TimesProps {
  today: Day;
  yesterday: Day;
  since: { created_after: string };
}

/** The times of chats and of media, which are seconds and minutes, and what was charged. */
function Times({ today, yesterday, since }: TimesProps) {
  return (
    <>
      <Figure
        label={
          <PageLink to="/requests" search={since}>
            Median time of chats
          </PageLink>
        }
        value={ms(today.chat_p50_ms)}
        trend={`${ms(yesterday.chat_p50_ms, 'None')} yesterday`}
      />
      <Figure
        label={
          <PageLink to="/tasks" search={since}>
            Median time of media
          </PageLink>
        }
        value={ms(today.media_p50_ms)}
        trend={`${ms(yesterday.media_p50_ms, 'None')} yesterday`}
      />
      <Figure
        label={
          <PageLink to="/requests" search={since}>
            Slowest 5% of all
          </PageLink>
        }
        value={ms(today.p95_ms)}
        trend={`${ms(yesterday.p95_ms, 'None')} yesterday`}
      />
      <Figure
        label={
          <PageLink to="/usage" search={{}}>
            Credits charged
          </PageLink>
        }
        value={number(today.credits)}
        trend={`${money(today.credits)}, ${change(today.credits, yesterday.credits)}`}
      />
    </>
  );
}

const ms = (value: number | null, absent = 'No request'): string => (value === null ? absent : milliseconds(value));

function change(now: number, before: number): string {
  if (before === 0) return 'None yesterday';
  const share = now / before - 1;
  const sign = share > 0 ? '+' : share < 0 ? '−' : '±';
  return `${sign}${Math.abs(Math.round(100 * share))}% on yesterday`;
}

interface FigureProps {
  label: ReactNode;
  value: string;
  trend: string;
  bad?: boolean;
}

function Figure({ label, value, trend, bad = false }: FigureProps) {
  return (
    <Card withBorder padding="md">
      <Text size="sm" component="div">
        {label}
      </Text>
      <Text className="figure" {...(bad && { c: 'red' })}>
        {value}
      </Text>
      <Text size="xs" c="dimmed">
        {trend}
      </Text>
    </Card>
  );
}
