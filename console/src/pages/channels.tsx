import { Button, Group, Menu, NumberInput, Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { change } from '../api/admin.ts';
import { channelsQuery } from '../api/queries.ts';
import { useMay } from '../api/session.ts';
import type { Channel, TestedChannel } from '../api/admin-types.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { DataTable, numeric, type Columns } from '../ui/data-table.tsx';
import { ChoiceFilter } from '../ui/filters.tsx';
import { milliseconds } from '../ui/format.ts';
import { MoreIcon, PlusIcon } from '../ui/icons.tsx';
import { PageLink } from '../ui/links.tsx';
import { Empty, Loaded, Page } from '../ui/page.tsx';
import { SwitchDialog } from '../ui/switch-dialog.tsx';
import { useEdits } from '../ui/use-edits.tsx';
import { useListView } from '../ui/use-list-view.ts';
import { Status } from '../ui/values.tsx';
import { AddProvider } from './add-provider.tsx';
import { Reason } from './channel-reason.tsx';
import { channelThing, EditChannel } from './edit-channel.tsx';
import { stateWords } from './state-words.ts';
import { VerifyDialog } from './verify-dialog.tsx';

/** The upstream providers: their state, why, and what can be done about it. */
export default function Channels() {
  const search = useSearch({ from: '/channels' });
  const { adapter, state } = search;
  const { filter } = useListView('/channels', search, {});
  const mayAct = useMay('operator');
  const mayAdd = useMay('owner');
  const [adding, setAdding] = useState(false);
  const channels = useQuery({ ...channelsQuery, refetchInterval: 10_000 });
  const data = useMemo(() => channels.data?.data ?? [], [channels.data]);
  const [request, setRequest] = useState<DialogRequest | null>(null);
  const columns = useMemo(() => columnsOf(data, mayAct ? setRequest : null), [data, mayAct]);
  return (
    <Page
      title="Channels"
      about="The providers that serve requests. The lowest priority number is tried first, and the weights share the load among equals."
      actions={
        mayAdd && (
          <Button leftSection={<PlusIcon size={16} />} onClick={() => setAdding(true)}>
            Add provider
          </Button>
        )
      }
    >
      <Group align="flex-end" gap="sm">
        <ChoiceFilter
          label="State"
          value={state}
          onChange={filter('state')}
          options={[...new Set(data.map((channel) => stateWords[channel.state]))]}
        />
        <ChoiceFilter
          label="Adapter"
          value={adapter}
          onChange={filter('adapter')}
          options={[...new Set(data.map((channel) => channel.adapter))].map((name) => ({ value: name, label: name }))}
        />
      </Group>
      <Loaded of={channels}>
        {() => (
          <DataTable
            label="Channels"
            rows={problemsFirst(data).filter(
              (channel) =>
                (adapter === undefined || channel.adapter === adapter) &&
                (state === undefined || stateWords[channel.state] === state),
            )}
            columns={columns}
            rowId={(row) => row.channel_id}
            empty={
              data.length === 0 ? (
                <Empty title="There is no channel yet">
                  {mayAdd
                    ? 'Add a provider: its free test comes before anything is stored.'
                    : 'An owner can add a provider.'}
                </Empty>
              ) : (
                <Empty title="No channel matches" />
              )
            }
          />
        )}
      </Loaded>
      {adding && <AddProvider onClose={() => setAdding(false)} />}
      {request && <ChannelDialog key={request.channel.channel_id} request={request} onClose={() => setRequest(null)} />}
    </Page>
  );
}

/** Channels that need somebody before those that serve, and those that are switched off at the end; else by priority. */
const problemsFirst = (channels: readonly Channel[]): Channel[] => channels.toSorted((a, b) => rankOf(a) - rankOf(b));

const ranks: readonly Channel['state'][] = ['alarm', 'open', 'resting', 'not_drawn', 'half_open', 'ready', 'disabled'];
const rankOf = ({ state }: Channel): number => ranks.indexOf(state);

interface DialogRequest {
  action: 'edit' | 'weight' | 'verify' | 'switch';
  channel: Channel;
}

const columnsOf = (all: Channel[], ask: ((request: DialogRequest) => void) | null): Columns<Channel> => [
  {
    accessorKey: 'name',
    header: 'Channel',
    cell: ({ row: { original } }) => (
      <PageLink to="/channels/$channelId" params={{ channelId: original.channel_id }} size="sm" fw={600}>
        {original.name}
      </PageLink>
    ),
  },
  {
    accessorKey: 'state',
    header: 'State',
    cell: ({ row: { original } }) => (
      <Stack gap={6} align="flex-start">
        <Status of={stateWords[original.state]} />
        {original.reasons.map((reason) => (
          <Reason key={`${reason.kind} ${reason.model}`} reason={reason} />
        ))}
      </Stack>
    ),
  },
  { accessorKey: 'adapter', header: 'Adapter' },
  { accessorKey: 'priority', header: 'Priority', ...numeric },
  {
    accessorKey: 'weight',
    header: 'Weight',
    cell: ({ row: { original } }) => `${original.weight} (${shareOf(original, all)}%)`,
    ...numeric,
  },
  {
    id: 'groups',
    header: 'Groups',
    enableSorting: false,
    cell: ({ row: { original } }) => <Groups names={original.groups} />,
  },
  ...(ask === null
    ? []
    : [
        {
          id: 'actions',
          header: 'Actions',
          enableSorting: false,
          cell: ({ row: { original } }: { row: { original: Channel } }) => <Actions channel={original} ask={ask} />,
        },
      ]),
];

/** The part of the requests that a channel gets among those of its adapter and priority, in percent. */
function shareOf(channel: Channel, all: Channel[]): number {
  const equals = all.filter(
    ({ enabled, adapter, priority }) => enabled && adapter === channel.adapter && priority === channel.priority,
  );
  const sum = equals.reduce((weights, { weight }) => weights + weight, 0);
  return channel.enabled && sum > 0 ? Math.round((100 * channel.weight) / sum) : 0;
}

function Groups({ names }: { names: string[] }) {
  const [first = 'None', ...others] = names;
  if (others.length === 0) return <>{first}</>;
  return (
    <details className="detail">
      <summary>
        {first} and {others.length} more
      </summary>
      <pre>{others.join(', ')}</pre>
    </details>
  );
}

function Actions({ channel, ask }: { channel: Channel; ask: (request: DialogRequest) => void }) {
  const test = useMutation({
    mutationFn: () => change('post', '/channels/{channel}/test', { channel: channel.channel_id }),
  });
  return (
    <div>
      <Group gap={4} wrap="nowrap">
        <Button
          size="compact-sm"
          variant="default"
          onClick={() => test.mutate()}
          loading={test.isPending}
          aria-label={`Test ${channel.name}`}
        >
          Test
        </Button>
        <ChannelMenu channel={channel} ask={ask} />
      </Group>
      <div role="status">
        {test.data && <TestResult of={test.data} />}
        {test.error && (
          <Text size="xs" c="red">
            {test.error.message}
          </Text>
        )}
      </div>
    </div>
  );
}

function TestResult({ of: { ok, offered, reason, status, detail, took_ms: tookMs } }: { of: TestedChannel }) {
  const text = ok
    ? `Answers and accepts the credential (${milliseconds(tookMs)})`
    : offered
      ? [reason?.replaceAll('_', ' '), status !== null && `status ${status}`, detail].filter(Boolean).join(' · ')
      : 'This adapter has no call that costs nothing';
  return (
    <Text size="xs" maw={200} mt={4} className="breakable" {...(offered && !ok && { c: 'red' })}>
      {text}
    </Text>
  );
}

function ChannelMenu({ channel, ask }: { channel: Channel; ask: (request: DialogRequest) => void }) {
  return (
    <Menu position="bottom-end" withArrow>
      <Menu.Target>
        <Button variant="subtle" color="gray" size="compact-sm" aria-label={`Actions for ${channel.name}`}>
          <MoreIcon />
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => ask({ action: 'edit', channel })}>Edit</Menu.Item>
        <Menu.Item onClick={() => ask({ action: 'weight', channel })}>Priority and weight</Menu.Item>
        <Menu.Item onClick={() => ask({ action: 'verify', channel })}>Verify its models</Menu.Item>
        <Menu.Item {...(channel.enabled && { color: 'red' })} onClick={() => ask({ action: 'switch', channel })}>
          {channel.enabled ? 'Drain and disable' : 'Enable'}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

/** Belongs to the page and not to a row, because a row becomes a card where the window gets narrow. */
function ChannelDialog({ request: { action, channel }, onClose }: { request: DialogRequest; onClose: () => void }) {
  if (action === 'edit') return <EditChannel channel={channel} onClose={onClose} />;
  if (action === 'weight') return <WeightDialog channel={channel} onClose={onClose} />;
  if (action === 'verify') return <VerifyDialog channel={channel} onClose={onClose} />;
  return (
    <SwitchDialog
      opened
      onClose={onClose}
      name={channel.name}
      enabled={channel.enabled}
      about={{
        enable: 'It receives new requests from now on.',
        disable: 'It receives no new request from now on. Jobs that it has accepted continue to their end.',
      }}
      run={(switchAction) => change('post', `/channels/{channel}/${switchAction}`, { channel: channel.channel_id })}
    />
  );
}

function WeightDialog({ channel, onClose }: { channel: Channel; onClose: () => void }) {
  const form = useEdits(channelThing(channel), channel, weightsOf);
  const { priority, weight } = form.fields;
  return (
    <ActionDialog
      opened
      onClose={onClose}
      title={`Priority and weight of ${channel.name}`}
      about="Channels with the lowest priority number are tried first. Among equals, the weights decide how the requests are shared."
      act="Save"
      disabled={form.isUnchanged || typeof priority !== 'number' || typeof weight !== 'number'}
      notice={form.notice}
      run={() =>
        form.save((version) =>
          change('patch', '/channels/{channel}', { channel: channel.channel_id }, form.changes, version),
        )
      }
      done={() => `${channel.name} is changed.`}
    >
      <NumberInput
        label="Priority"
        value={priority}
        onChange={(value) => form.edit({ priority: value })}
        min={0}
        max={10_000}
        allowDecimal={false}
      />
      <NumberInput
        label="Weight"
        description="0 takes it out of use"
        value={weight}
        onChange={(value) => form.edit({ weight: value })}
        min={0}
        max={10_000}
        allowDecimal={false}
      />
    </ActionDialog>
  );
}

const weightsOf = ({ priority, weight }: Channel): Record<'priority' | 'weight', number | string> => ({
  priority,
  weight,
});
