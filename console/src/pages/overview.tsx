import { Alert, Badge, Card, Group, Stack, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { overviewQuery } from '../api/queries.ts';
import type { Alarm } from '../api/admin-types.ts';
import { CheckIcon } from '../ui/icons.tsx';
import { PageLink } from '../ui/links.tsx';
import { Empty, Loaded, Page } from '../ui/page.tsx';
import { AlarmCard } from './alarm-card.tsx';
import { FirstSteps } from './overview/first-steps.tsx';
import { TodayFigures } from './overview/today-figures.tsx';
import { LastFailures } from './overview/last-failures.tsx';
import { WhatFails } from './overview/what-fails.tsx';
import { TrafficChart } from './traffic-chart.tsx';

/** How the gateway does, what needs a person, and what fails. */
export default function Overview() {
  const overview = useQuery(overviewQuery);
  return (
    <Page title="Overview" about="Today so far (UTC), against yesterday until the same time of day.">
      <FirstSteps />
      <Loaded of={overview}>
        {(data) => (
          <>
            <Alarms alarms={data.alarms} />
            <TodayFigures today={data.today} yesterday={data.yesterday} at={data.at} />
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
                  Open the{' '}
                  <PageLink to="/playground" underline="always">
                    playground
                  </PageLink>{' '}
                  and make a picture: it shows up here.
                </Empty>
              ) : (
                <TrafficChart hours={data.hours} />
              )}
            </Card>
          </>
        )}
      </Loaded>
      <WhatFails />
      <LastFailures />
    </Page>
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
