import { Alert, Badge, Card, Group, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { overviewQuery } from '../api/queries.ts';
import type { Alarm, Traffic } from '../api/admin-types.ts';
import { milliseconds, money, number, percent, usd } from '../ui/format.ts';
import { CheckIcon } from '../ui/icons.tsx';
import { Empty, Loaded, Page } from '../ui/page.tsx';
import { PageLink } from '../ui/links.tsx';
import { AlarmCard } from './alarm-card.tsx';
import { TrafficChart } from './traffic-chart.tsx';

/** How the gateway does today, and what needs a person. */
export default function Overview() {
  const overview = useQuery({ ...overviewQuery, refetchInterval: 15_000 });
  return (
    <Page title="Overview" about="Today so far (UTC), against yesterday until the same time of day.">
      <Loaded of={overview}>
        {(data) => (
          <>
            <Alarms alarms={data.alarms} />
            <Figures today={data.today} yesterday={data.yesterday} />
            <Card withBorder component="section" aria-labelledby="traffic">
              <Group justify="space-between" mb="md">
                <Title order={2} size="h4" id="traffic">
                  Requests per hour (UTC)
                </Title>
                <PageLink to="/requests" search={{ outcome: 'refunded' }} size="sm">
                  Why chats were refunded
                </PageLink>
              </Group>
              {data.hours.every(({ requests }) => requests === 0) ? (
                <Empty title="No request yet">
                  Open the <PageLink to="/playground">playground</PageLink> and make a picture: it shows up here.
                </Empty>
              ) : (
                <TrafficChart hours={data.hours} />
              )}
            </Card>
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Figures({ today, yesterday }: { today: Traffic; yesterday: Traffic }) {
  const share = ({ succeeded, requests }: Traffic): number | null => (requests === 0 ? null : succeeded / requests);
  const success = share(today);
  const successBefore = share(yesterday);
  return (
    <SimpleGrid cols={{ base: 2, md: 3 }} spacing="md">
      <Figure label="Requests" value={number(today.requests)} trend={change(today.requests, yesterday.requests)} />
      <Figure
        label="Success"
        value={success === null ? 'No request' : percent(success)}
        trend={successBefore === null ? 'No request yesterday' : `${percent(successBefore)} yesterday`}
        bad={success !== null && success < 0.95}
      />
      <Figure label="Median time" value={ms(today.p50_ms)} trend={`${ms(yesterday.p50_ms, 'None')} yesterday`} />
      <Figure label="Slowest 5%" value={ms(today.p95_ms)} trend={`${ms(yesterday.p95_ms, 'None')} yesterday`} />
      <Figure
        label="Credits charged"
        value={number(today.credits)}
        trend={`${money(today.credits)}, ${change(today.credits, yesterday.credits)}`}
      />
      <Figure
        label="Margin"
        value={usd(today.margin_micro_usd)}
        trend={`cost ${usd(today.cost_micro_usd)}`}
        bad={today.margin_micro_usd < 0}
      />
    </SimpleGrid>
  );
}

const ms = (value: number | null, absent = 'No request'): string => (value === null ? absent : milliseconds(value));

function change(now: number, before: number): string {
  if (before === 0) return 'None yesterday';
  const share = now / before - 1;
  const sign = share > 0 ? '+' : share < 0 ? '−' : '±';
  return `${sign}${Math.abs(Math.round(100 * share))}% on yesterday`;
}

function Figure({ label, value, trend, bad = false }: { label: string; value: string; trend: string; bad?: boolean }) {
  return (
    <Card withBorder padding="md">
      <Text size="sm" c="dimmed">
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

function Alarms({ alarms }: { alarms: Alarm[] }) {
  if (alarms.length === 0)
    return (
      <Alert color="teal" variant="light" icon={<CheckIcon />} title="Nothing needs you">
        Every channel is available, every job ran and no task waits for a decision.
      </Alert>
    );
  const isSilenced = ({ silence }: Alarm): boolean => silence !== null;
  const loud = alarms.filter((alarm) => !isSilenced(alarm));
  return (
    <Card withBorder component="section" aria-labelledby="alarms">
      <Group gap="xs" mb="sm">
        <Title order={2} size="h4" id="alarms">
          What needs you
        </Title>
        <Badge color={loud.length > 0 ? 'red' : 'gray'} variant="light">
          {loud.length}
        </Badge>
      </Group>
      <Stack gap="sm">
        {[...loud, ...alarms.filter(isSilenced)].map((alarm) => (
          <AlarmCard key={`${alarm.kind} ${alarm.subject} ${alarm.message}`} alarm={alarm} />
        ))}
      </Stack>
    </Card>
  );
}
