import { Button, Group, NumberInput, PasswordInput, SimpleGrid, Stack, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { change } from '../api/admin.ts';
import { groupsQuery } from '../api/queries.ts';
import { useMay } from '../api/session.ts';
import type { Channel, ChannelCredential } from '../api/admin-types.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { number, time } from '../ui/format.ts';
import { useEdits } from '../ui/use-edits.tsx';
import { Status } from '../ui/values.tsx';
import { limitsText } from './channel-limits.ts';
import { ProviderFields, type ProviderSettings } from './provider-fields.tsx';
import { stateWords } from './state-words.ts';

/** A channel as `useEdits` reads it. */
export const channelThing = ({ channel_id: id }: Channel) =>
  ({ path: '/channels/{channel}', inputs: { channel: id }, subject: id }) as const;

/** Changes the settings of a channel. */
export function EditChannel({ channel, onClose }: { channel: Channel; onClose: () => void }) {
  const { data: groups = [] } = useQuery(groupsQuery);
  const isOwner = useMay('owner');
  const form = useEdits(channelThing(channel), channel, (of) => ({ ...settingsOf(of), ...limitsOf(of) }));
  return (
    <ActionDialog
      opened
      onClose={onClose}
      size="lg"
      title={`Edit ${channel.name}`}
      about="A new key, family or base URL also ends its cool-downs, trips and alarms."
      act="Save"
      disabled={form.isUnchanged || form.fields.groups.length === 0}
      notice={form.notice}
      run={() =>
        form.save((version) =>
          change('patch', '/channels/{channel}', { channel: channel.channel_id }, emptyToNull(form.changes), version),
        )
      }
      done={({ name, warnings = [] }) => [`${name} is changed.`, ...warnings].join(' ')}
    >
      <ProviderFields
        value={form.fields}
        onChange={form.edit}
        groups={groups}
        mayMove={isOwner}
        keptKey="Leave empty to keep the keys. A new one replaces the first"
      />
      <LimitFields value={form.fields} onChange={form.edit} />
    </ActionDialog>
  );
}

function LimitFields({ value, onChange }: { value: Limits; onChange: (limits: Partial<Limits>) => void }) {
  return (
    <SimpleGrid cols={{ base: 1, xs: 3 }} className="fields">
      {channelLimits.map(({ name, label }) => (
        <NumberInput
          key={name}
          label={label}
          placeholder="No limit"
          value={value[name]}
          onChange={(limit) => onChange({ [name]: limit })}
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

/** Settings as the admin API takes them: an empty limit is none. */
const emptyToNull = <Settings extends object>(settings: Settings) =>
  Object.fromEntries(
    Object.entries(settings).map(([name, value]: [string, unknown]) => [name, value === '' ? null : value]),
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
              <Table.Td className="nowrap">{shownName(credential)}</Table.Td>
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
  const form = useEdits(channelThing(channel), channel, ({ credentials }) =>
    limitsOf(credentials.find(({ id }) => id === credential.id) ?? credential),
  );
  return (
    <ActionDialog
      opened
      onClose={onClose}
      title={`Limits of the key ${shownName(credential)}`}
      about="A request that would exceed one of these limits takes another key or another channel. The limits of the channel hold as well."
      act="Save"
      disabled={form.isUnchanged}
      notice={form.notice}
      run={() =>
        form.save((version) =>
          change(
            'patch',
            '/channels/{channel}',
            { channel: channel.channel_id },
            { limit_credential: credential.id, ...emptyToNull(form.changes) },
            version,
          ),
        )
      }
      done={() => 'The limits of the key are changed.'}
    >
      <LimitFields value={form.fields} onChange={form.edit} />
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
      about="Requests use the available keys in turn. The new key is stored encrypted and not shown again."
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
