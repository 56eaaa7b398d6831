import { Button, Card, Group, SegmentedControl, Stack, Text, Title } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { read } from '../api/admin.ts';
import { channelsQuery } from '../api/queries.ts';
import { useMay } from '../api/session.ts';
import type { Channel, HistoryPoint } from '../api/admin-types.ts';
import { number, percent } from '../ui/format.ts';
import { PageLink } from '../ui/links.tsx';
import { Empty, Loaded, LoadedPage, Loading, Page } from '../ui/page.tsx';
import { Facts, Status } from '../ui/values.tsx';
import { limitsText } from './channel-limits.ts';
import { Reason } from './channel-reason.tsx';
import { Credentials, EditChannel, limitFacts } from './edit-channel.tsx';
import { stateWords } from './state-words.ts';

const ChannelCharts = lazy(() => import('./channel-charts.tsx'));

const ranges = [
  { value: '1', label: '1 hour' },
  { value: '24', label: '24 hours' },
  { value: '168', label: '7 days' },
];

/** One channel: its state, and how its attempts ended over time. */
export default function ChannelDetails() {
  const { channelId } = useParams({ from: '/channels/$channelId' });
  const channels = useQuery({ ...channelsQuery, refetchInterval: 10_000 });
  return (
    <LoadedPage title="Channel" of={channels}>
      {({ data }) => {
        const channel = data.find(({ channel_id, name }) => channel_id === channelId || name === channelId);
        return channel ? (
          <ChannelPage channel={channel} />
        ) : (
          <Page title="Channel">
            <Empty title="There is no such channel">
              See <PageLink to="/channels">all channels</PageLink>.
            </Empty>
          </Page>
        );
      }}
    </LoadedPage>
  );
}

function ChannelPage({ channel }: { channel: Channel }) {
  const mayEdit = useMay('operator');
  const [editing, setEditing] = useState(false);
  return (
    <Page
      title={channel.name}
      about={<PageLink to="/channels">All channels</PageLink>}
      actions={mayEdit && <Button onClick={() => setEditing(true)}>Edit</Button>}
    >
      <Card withBorder>
        <Stack gap="sm" align="flex-start">
          <Status of={stateWords[channel.state]} />
          {channel.reasons.map((reason) => (
            <Reason key={`${reason.kind} ${reason.model}`} reason={reason} />
          ))}
          <Facts
            of={[
              ['Adapter', channel.adapter],
              ['Base URL', channel.base_url],
              ['Priority', number(channel.priority)],
              ['Weight', number(channel.weight)],
              ['Groups', channel.groups.join(', ')],
              ['List check', channel.list_check ? 'On' : 'Off'],
              ...limitFacts(channel),
              ['Limits', limitsText(channel.limits)],
            ]}
          />
        </Stack>
      </Card>
      <Card withBorder component="section" aria-labelledby="keys">
        <Title order={2} size="h4" id="keys" mb="sm">
          Keys of the provider
        </Title>
        <Credentials channel={channel} />
      </Card>
      {editing && <EditChannel channel={channel} onClose={() => setEditing(false)} />}
      <AttemptHistory channelId={channel.channel_id} />
    </Page>
  );
}

function AttemptHistory({ channelId }: { channelId: string }) {
  const { hours = '24' } = useSearch({ from: '/channels/$channelId' });
  const navigate = useNavigate();
  const history = useQuery({
    queryKey: ['channel-history', channelId, hours],
    queryFn: () => read('/channels/{channel}/history', { channel: channelId, hours }),
    placeholderData: keepPreviousData,
    refetchInterval: 15_000,
  });
  return (
    <Card withBorder component="section" aria-labelledby="history">
      <Group justify="space-between" mb="md" gap="sm">
        <Title order={2} size="h4" id="history">
          Attempts over time
        </Title>
        <SegmentedControl
          aria-label="Range"
          data={ranges}
          value={hours}
          onChange={(next) =>
            void navigate({ to: '/channels/$channelId', params: { channelId }, search: { hours: next }, replace: true })
          }
        />
      </Group>
      <Loaded of={history}>
        {(points) =>
          points.data.every(({ attempts }) => attempts === 0) ? (
            <Empty title="No attempt in this time">Choose a longer range, or make a request in the playground.</Empty>
          ) : (
            <Stack>
              <Text size="sm">{sentenceOf(points.data)}</Text>
              <Suspense fallback={<Loading label="Loading the charts" />}>
                <ChannelCharts history={points} />
              </Suspense>
            </Stack>
          )
        }
      </Loaded>
    </Card>
  );
}

/** The sums of the range, which the charts show over time. */
function sentenceOf(points: HistoryPoint[]): string {
  const sum = (of: (point: HistoryPoint) => number): number => points.reduce((total, point) => total + of(point), 0);
  const attempts = sum((point) => point.attempts);
  const failed = sum((point) => point.transient + point.unknown);
  const refused = sum((point) => point.refused);
  const share = percent(attempts === 0 ? 0 : failed / attempts);
  const counted = `${number(attempts)} ${attempts === 1 ? 'attempt' : 'attempts'}`;
  return `${counted}: ${number(failed)} failed (${share}), ${number(refused)} refused because of the request.`;
}
