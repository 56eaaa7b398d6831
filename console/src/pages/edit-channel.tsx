import { Button, Group, NumberInput, PasswordInput, SimpleGrid, Stack, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { change } from '../api/admin.ts';
import { catalogQuery } from '../api/queries.ts';
import { useMay } from '../api/session.ts';
import type { Channel, ChannelCredential } from '../api/admin-types.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { number, time } from '../ui/format.ts';
import { Status } from '../ui/values.tsx';
import { limitsText } from './channel-limits.ts';
import { ProviderFields, type ProviderSettings } from './provider-fields.tsx';
import { stateWords } from './state-words.ts';

/** Changes the settings of a channel. Only what differs is sent, so that what another operator changed meanwhile stays. */
export function EditChannel({ channel, onClose }: { channel: Channel; onClose: () => void }) {
  const catalog = useQuery(catalogQuery);
  const isOwner = useMay('owner');
  const [before] = useState(() => settingsOf(channel));
  const [settings, setSettings] = useState(before);
  const [limitsBefore] = useState(() => limitsOf(channel));
  const [limits, setLimits] = useState(limitsBefore);
  const groups = [...new Set((catalog.data?.data ?? []).flatMap((entry) => entry.private.groups))].sort();
  const changes = {
    ...Object.fromEntries(
      Object.entries(settings).filter(
        ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name as keyof ProviderSettings]),
      ),
    ),
    ...changedLimits(limitsBefore, limits),
  };
  return (
    <ActionDialog
      opened
      onClose={onClose}
      size="lg"
      title={`Edit ${channel.name}`}
      about="A new key, family or base URL also ends its cool-downs, trips and alarms."
      act="Save"
      disabled={Object.keys(changes).length === 0 || settings.groups.length === 0}
      run={() => change('patch', '/channels/{channel}', { channel: channel.channel_id }, changes)}
      done={({ name, warnings = [] }) => [`${name} is changed.`, ...warnings].join(' ')}
    >
      <ProviderFields
        value={settings}
        onChange={(changed) => setSettings((others) => ({ ...others, ...changed }))}
        groups={groups}
        mayMove={isOwner}
        keptKey="Empty: the key stays. A new one replaces the first key"
      />
      <LimitFields value={limits} onChange={setLimits} />
    </ActionDialog>
  );
}

function LimitFields({ value, onChange }: { value: Limits; onChange: (limits: Limits) => void }) {
  return (
    <SimpleGrid cols={{ base: 1, xs: 3 }} className="fields">
      {channelLimits.map(({ name, label }) => (
        <NumberInput
          key={name}
          label={label}
          placeholder="No limit"
          value={value[name]}
          onChange={(limit) => onChange({ ...value, [name]: limit })}
          min={1}
          allowDecimal={false}
          thousandSeparator=","
        />
      ))}
    </SimpleGrid>
  );
}

type Limits = Record<(typeof channelLimits)[number]['name'], number | string>;

const channelLimits = [
  { name: 'rpm', label: 'Requests per minute' },
  { name: 'tpm', label: 'Tokens per minute' },
  { name: 'parallel', label: 'Calls at the same time' },
] as const;

const limitsOf = ({ limits }: Pick<Channel, 'limits'>): Limits => ({
  rpm: limits.rpm ?? '',
  tpm: limits.tpm ?? '',
  parallel: limits.parallel ?? '',
});

/** The limits that differ, as the admin API takes them. */
const changedLimits = (before: Limits, after: Limits): Record<string, number | string | null> =>
  Object.fromEntries(
    channelLimits
      .filter(({ name }) => after[name] !== before[name])
      .map(({ name }) => [name, after[name] === '' ? null : after[name]]),
  );

/** Each limit of a channel with its use, such as `12 of 60`. */
export const limitFacts = ({ limits }: Channel): [string, string][] =>
  channelLimits.map(({ name, label }) => {
    const most = limits[name];
    return [label, most === null ? 'No limit' : `${number(limits.used[name])} of ${number(most)}`];
  });

const settingsOf = ({ name, adapter, base_url, groups, priority, weight, list_check }: Channel): ProviderSettings => ({
  name,
  adapter,
  base_url,
  credential: '',
  groups,
  priority,
  weight,
  list_check,
});

/** The keys of a channel with their limits. An owner adds and removes keys. */
export function Credentials({ channel }: { channel: Channel }) {
  const isOwner = useMay('owner');
  const mayLimit = useMay('operator');
  const [action, setAction] = useState<'add' | ChannelCredential | null>(null);
  const [limited, setLimited] = useState<ChannelCredential | null>(null);
  const { credentials, channel_id: id } = channel;
  const close = (): void => setAction(null);
  const removed = action === 'add' ? null : action;
  return (
    <Stack gap="xs">
      <Table className="rows" aria-label="Keys of the provider">
        <Table.Tbody>
          {credentials.map((credential) => (
            <Table.Tr key={credential.id}>
              <Table.Td ff="monospace">{shownName(credential)}</Table.Td>
              <Table.Td>
                <Status of={stateWords[credential.state]} />
                {credential.reason !== null && (
                  <Text size="xs" c="dimmed">
                    {credential.reason.replaceAll('_', ' ')}
                    {credential.until !== null && `, until ${time(credential.until)}`}
                  </Text>
                )}
                {limitsText(credential.limits) !== 'None' && (
                  <Text size="xs" c="dimmed">
                    Limits: {limitsText(credential.limits)}
                  </Text>
                )}
              </Table.Td>
              {mayLimit && (
                <Table.Td className="numeric">
                  <Group gap={4} justify="flex-end">
                    <Button
                      size="compact-sm"
                      variant="default"
                      onClick={() => setLimited(credential)}
                      aria-label={`Limits of the key ${shownName(credential)}`}
                    >
                      Limits
                    </Button>
                    {isOwner && credentials.length > 1 && (
                      <Button
                        size="compact-sm"
                        variant="default"
                        onClick={() => setAction(credential)}
                        aria-label={`Remove the key ${shownName(credential)}`}
                      >
                        Remove
                      </Button>
                    )}
                  </Group>
                </Table.Td>
              )}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {isOwner && (
        <Group>
          <Button size="xs" variant="default" onClick={() => setAction('add')}>
            Add a key
          </Button>
        </Group>
      )}
      {limited && <LimitKeyDialog channel={channel} credential={limited} onClose={() => setLimited(null)} />}
      {action === 'add' && <AddKeyDialog channel={channel} onClose={close} />}
      <ActionDialog
        opened={removed !== null}
        onClose={close}
        title={`Remove the key ${removed ? shownName(removed) : ''}`}
        about="No request uses it from now on. Jobs that it began are not polled any more: their outcome becomes unknown."
        act="Remove"
        danger
        run={() => change('patch', '/channels/{channel}', { channel: id }, { credential_remove: removed?.id ?? '' })}
        done={() => 'The key is removed.'}
      />
    </Stack>
  );
}

/** The limits of one key, which count beside those of its channel. */
function LimitKeyDialog({
  channel,
  credential,
  onClose,
}: {
  channel: Channel;
  credential: ChannelCredential;
  onClose: () => void;
}) {
  const [before] = useState(() => limitsOf(credential));
  const [limits, setLimits] = useState(before);
  const changes = changedLimits(before, limits);
  return (
    <ActionDialog
      opened
      onClose={onClose}
      title={`Limits of the key ${shownName(credential)}`}
      about="A request that would exceed one of them takes another key or another channel. They count beside those of the channel."
      act="Save"
      disabled={Object.keys(changes).length === 0}
      run={() =>
        change(
          'patch',
          '/channels/{channel}',
          { channel: channel.channel_id },
          { limit_credential: credential.id, ...changes },
        )
      }
      done={() => 'The limits of the key are changed.'}
    >
      <LimitFields value={limits} onChange={setLimits} />
    </ActionDialog>
  );
}

function AddKeyDialog({ channel, onClose }: { channel: Channel; onClose: () => void }) {
  const [secret, setSecret] = useState('');
  return (
    <ActionDialog
      opened
      onClose={onClose}
      title={`Add a key to ${channel.name}`}
      about="Requests use the keys that do not cool down in turn. It is stored encrypted and not shown again."
      act="Add"
      disabled={secret.trim() === ''}
      run={() => change('patch', '/channels/{channel}', { channel: channel.channel_id }, { credential_add: secret })}
      done={() => 'The key is added.'}
    >
      <PasswordInput
        label="API key"
        value={secret}
        onChange={({ currentTarget }) => setSecret(currentTarget.value)}
        autoComplete="off"
        visibilityToggleButtonProps={{ 'aria-label': 'Show the key' }}
        required
        data-autofocus
      />
    </ActionDialog>
  );
}

const shownName = ({ id, last4 }: ChannelCredential): string => (last4 ? `…${last4}` : id);
