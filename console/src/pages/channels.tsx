import { Alert, Badge, Button, Card, Group, Menu, NumberInput, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { change, read } from '../api/admin.ts';
import { useMay } from '../api/session.ts';
import type { Channel, ChannelReason, List, TestedChannel } from '../api/types.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { milliseconds, time } from '../ui/format.ts';
import { MoreIcon } from '../ui/icons.tsx';
import { Empty, Loaded, Page } from '../ui/page.tsx';
import { Facts, Status } from '../ui/values.tsx';
import { stateWords } from './channel-states.ts';
import { VerifyDialog } from './verify-dialog.tsx';

/** What an operator can do about a state. */
const remedies: Record<ChannelReason['kind'], string> = {
  resting: 'It comes back by itself. If it does not, check the account at the provider.',
  open: 'It is tried again by itself. Test the channel to see what the provider answers now.',
  half_open: 'The next call decides whether it is available again.',
  alarm: 'Check the credential and the account at the provider, then test the channel.',
  not_drawn: "The provider's list lacks this model. Correct its name in the catalog, or switch off the list check.",
};

/** The upstream providers: their state, why, and what can be done about it. */
export default function Channels() {
  const channels = useQuery({
    queryKey: ['channels'],
    queryFn: () => read<List<Channel>>('/channels'),
    refetchInterval: 10_000,
  });
  return (
    <Page
      title="Channels"
      about="The providers that serve requests. The lowest priority number is tried first, and the weights share the load among equals."
    >
      <Loaded of={channels}>
        {({ data }) =>
          data.length === 0 ? (
            <Card withBorder>
              <Empty title="There is no channel yet">Add one on the server: npx tollgate channels add --help</Empty>
            </Card>
          ) : (
            priorities(data).map(([priority, members]) => (
              <Stack key={priority} gap="xs" component="section" aria-label={`Priority ${priority}`}>
                <Title order={2} size="h5" c="dimmed">
                  Priority {priority}
                </Title>
                <SimpleGrid cols={{ base: 1, md: 2, xl: 3 }}>
                  {members.map((channel) => (
                    <ChannelCard key={channel.channel_id} channel={channel} weightSum={sumOfWeights(members)} />
                  ))}
                </SimpleGrid>
              </Stack>
            ))
          )
        }
      </Loaded>
    </Page>
  );
}

const sumOfWeights = (channels: Channel[]): number =>
  channels.filter(({ enabled }) => enabled).reduce((sum, { weight }) => sum + weight, 0);

function priorities(channels: Channel[]): [number, Channel[]][] {
  const groups = Map.groupBy(channels, ({ priority }) => priority);
  return [...groups].toSorted(([a], [b]) => a - b);
}

function ChannelCard({ channel, weightSum }: { channel: Channel; weightSum: number }) {
  const test = useMutation({
    mutationFn: () => change<TestedChannel>('POST', `/channels/${channel.channel_id}/test`),
  });
  const mayAct = useMay('operator');
  const share = channel.enabled && weightSum > 0 ? Math.round((100 * channel.weight) / weightSum) : 0;
  return (
    <Card withBorder component="article" aria-label={channel.name}>
      <Stack gap="sm" h="100%">
        <Group justify="space-between" wrap="nowrap" gap="xs">
          <Text fw={650} className="breakable">
            {channel.name}
          </Text>
          <Group gap={4} wrap="nowrap">
            <Status of={stateWords[channel.state]} />
            {mayAct && <ChannelMenu channel={channel} />}
          </Group>
        </Group>
        <Facts
          of={[
            ['Adapter', channel.adapter],
            ['Weight', `${channel.weight} (${share}% of this priority)`],
          ]}
        />
        <Group gap={4}>
          {channel.groups.map((group) => (
            <Badge key={group} variant="default" tt="none" fw={500} size="sm">
              {group}
            </Badge>
          ))}
        </Group>
        {channel.reasons.map((reason) => (
          <Reason key={`${reason.kind} ${reason.model}`} reason={reason} />
        ))}
        {mayAct && (
          <Group mt="auto" gap="xs">
            <Button
              size="xs"
              variant="default"
              onClick={() => test.mutate()}
              loading={test.isPending}
              aria-label={`Test ${channel.name}`}
            >
              Test
            </Button>
            <div role="status" className="test-result">
              {test.data && <TestResult of={test.data} />}
              {test.error && (
                <Text size="sm" c="red">
                  {test.error.message}
                </Text>
              )}
            </div>
          </Group>
        )}
      </Stack>
    </Card>
  );
}

function Reason({ reason: { kind, model, reason, until } }: { reason: ChannelReason }) {
  return (
    <Alert color={kind === 'half_open' ? 'yellow' : 'orange'} variant="light" p="xs">
      <Text size="sm" fw={600}>
        {model === '*' ? 'All models' : model}: {stateWords[kind]}
        {until !== null && ` until ${time(until)}`}
      </Text>
      {reason !== null && <Text size="sm">{reason.replaceAll('_', ' ')}</Text>}
      <Text size="sm">{remedies[kind]}</Text>
    </Alert>
  );
}

function TestResult({ of: { ok, offered, reason, status, detail, took_ms: tookMs } }: { of: TestedChannel }) {
  if (ok) return <Text size="sm">Answers and accepts the credential ({milliseconds(tookMs)})</Text>;
  if (!offered) return <Text size="sm">This adapter has no call that costs nothing</Text>;
  return (
    <Text size="sm" c="red" className="breakable">
      {[reason?.replaceAll('_', ' '), status !== null && `status ${status}`, detail].filter(Boolean).join(' · ')}
    </Text>
  );
}

type Action = 'weight' | 'disable' | 'enable' | 'verify';

function ChannelMenu({ channel }: { channel: Channel }) {
  const [action, setAction] = useState<Action | null>(null);
  const close = (): void => setAction(null);
  return (
    <>
      <Menu position="bottom-end" withArrow>
        <Menu.Target>
          <Button variant="subtle" color="gray" size="compact-sm" aria-label={`Actions for ${channel.name}`}>
            <MoreIcon />
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => setAction('weight')}>Priority and weight</Menu.Item>
          <Menu.Item onClick={() => setAction('verify')}>Verify its models</Menu.Item>
          {channel.enabled ? (
            <Menu.Item color="red" onClick={() => setAction('disable')}>
              Drain and disable
            </Menu.Item>
          ) : (
            <Menu.Item onClick={() => setAction('enable')}>Enable</Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      {action === 'weight' && <WeightDialog channel={channel} onClose={close} />}
      {action === 'verify' && <VerifyDialog channel={channel} onClose={close} />}
      <ActionDialog
        opened={action === 'disable'}
        onClose={close}
        title={`Disable ${channel.name}`}
        about="It receives no new request from now on. Jobs that it has accepted continue to their end."
        act="Disable"
        danger
        run={() => change('POST', `/channels/${channel.channel_id}/disable`)}
        done={() => `${channel.name} is disabled.`}
      />
      <ActionDialog
        opened={action === 'enable'}
        onClose={close}
        title={`Enable ${channel.name}`}
        about="It receives new requests from now on."
        act="Enable"
        run={() => change('POST', `/channels/${channel.channel_id}/enable`)}
        done={() => `${channel.name} is enabled.`}
      />
    </>
  );
}

function WeightDialog({ channel, onClose }: { channel: Channel; onClose: () => void }) {
  const [priority, setPriority] = useState<number | string>(channel.priority);
  const [weight, setWeight] = useState<number | string>(channel.weight);
  return (
    <ActionDialog
      opened
      onClose={onClose}
      title={`Priority and weight of ${channel.name}`}
      about="Channels with the lowest priority number are tried first. Among equals, the weights decide how the requests are shared."
      act="Save"
      disabled={typeof priority !== 'number' || typeof weight !== 'number'}
      run={() => change('PATCH', `/channels/${channel.channel_id}`, { priority, weight })}
      done={() => `${channel.name} is changed.`}
    >
      <NumberInput label="Priority" value={priority} onChange={setPriority} min={0} max={10_000} allowDecimal={false} />
      <NumberInput
        label="Weight"
        description="0 means that it is never drawn"
        value={weight}
        onChange={setWeight}
        min={0}
        max={10_000}
        allowDecimal={false}
      />
    </ActionDialog>
  );
}
