import { Alert, Badge, Card, Group, SegmentedControl, Stack, Text, Title } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { overviewQuery } from '../api/queries.ts';
import type { Alarm, RangeOverview } from '../api/admin-types.ts';
import { number, time } from '../ui/format.ts';
import { CheckIcon } from '../ui/icons.tsx';
import { PageLink } from '../ui/links.tsx';
import { Announced, Empty, Loaded, Page } from '../ui/page.tsx';
import { AlarmCard } from './alarm-card.tsx';
import { FirstSteps } from './overview/first-steps.tsx';
import { RangeFigures, requestsOf } from './overview/range-figures.tsx';
import { LastFailures } from './overview/last-failures.tsx';
import { WhatFails } from './overview/what-fails.tsx';
import { TrafficChart } from './traffic-chart.tsx';

/** The ranges by their hours, which the address has. */
const ranges = [
  { value: '1', label: 'Hour' },
  { value: '24', label: 'Day' },
  { value: '168', label: 'Week' },
];

/** How the gateway does, what needs a person, and what fails, in a range that ends now. */
export default function Overview() {
  const { range: hours = '24' } = useSearch({ from: '/overview' });
  const navigate = useNavigate();
  const overview = useQuery({ ...overviewQuery(hours), placeholderData: keepPreviousData });
  return (
    <Page
      title="Overview"
      about="Open alarms, and the requests of the last hour, day or week beside those of the one before."
      actions={
        <SegmentedControl
          aria-label="Range"
          data={ranges}
          value={hours}
          onChange={(next) => void navigate({ to: '/overview', search: { range: next } })}
        />
      }
    >
      <FirstSteps />
      <Loaded of={overview}>
        {({ alarms, range }) => (
          <>
            <Alarms alarms={alarms} />
            {range && <RangeOf range={range} />}
          </>
        )}
      </Loaded>
      <LastFailures hours={hours} />
    </Page>
  );
}

function RangeOf({ range }: { range: RangeOverview }) {
  return (
    <>
      <Text size="sm">
        From {time(range.from)} to {time(range.to)}, against the {range.range} before.
        {range.counted_from !== null &&
          ` Counted since ${time(range.counted_from)}: what was before is not known here.`}
      </Text>
      <Announced>
        {`The last ${range.range}: ${number(range.now.requests)} requests, ${number(range.now.failed)} of them failed`}
      </Announced>
      <RangeFigures of={range} />
      <Card withBorder component="section" aria-labelledby="traffic">
        <Group justify="space-between" mb="md">
          <Title order={2} size="h4" id="traffic">
            Requests per {barWords[range.range]}
          </Title>
          <PageLink to="/requests" search={{ ...requestsOf(range), outcome: 'refunded' }} size="sm">
            Why chats were refunded
          </PageLink>
        </Group>
        {range.bars.every(({ requests }) => requests === 0) ? (
          <Empty title="No request in this range">
            Open the{' '}
            <PageLink to="/playground" underline="always">
              playground
            </PageLink>{' '}
            and make a picture: it shows up here.
          </Empty>
        ) : (
          <TrafficChart range={range} title={`Requests per ${barWords[range.range]}`} />
        )}
      </Card>
      <WhatFails range={range} />
    </>
  );
}

const barWords: Record<RangeOverview['range'], string> = { hour: '5 minutes', day: 'hour', week: '6 hours' };

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
