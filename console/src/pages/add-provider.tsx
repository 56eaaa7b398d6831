import { Alert, Button, Select, Stack, Table, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { listedProviders } from '../../../src/domain/channels/listed-providers.ts';
import { change } from '../api/admin.ts';
import { catalogQuery, channelsQuery, groupsQuery } from '../api/queries.ts';
import type { CatalogEntry, ProbedProvider } from '../api/admin-types.ts';
import { Dialog, DialogActions } from '../ui/dialog.tsx';
import { percent } from '../ui/format.ts';
import { IntoView } from '../ui/into-view.tsx';
import { ErrorAlert } from '../ui/page.tsx';
import { worstShareAt } from './models/price-fields.ts';
import { Prices } from './models/prices.tsx';
import { ProviderFields, type ProviderSettings } from './provider-fields.tsx';

/** Adds a provider as a channel. Its free test, and what it would serve at which margin, come before it is stored. */
export function AddProvider({ onClose }: { onClose: () => void }) {
  const queryClient = useQueryClient();
  const { data: groups = [] } = useQuery(groupsQuery);
  const channels = useQuery(channelsQuery);
  const [provider, setProvider] = useState<string | null>(null);
  const [settings, setSettings] = useState<ProviderSettings>(empty);
  const isWhole =
    [settings.name, settings.adapter, settings.base_url, settings.credential].every((each) => each.trim() !== '') &&
    settings.groups.length > 0;
  const test = useMutation({
    mutationFn: () => {
      const { adapter, base_url: url, credential, groups: served } = settings;
      return change('post', '/channels/probe', {}, { adapter, base_url: url, credential, groups: served });
    },
  });
  const add = useMutation({
    mutationFn: () => change('post', '/channels', {}, settings),
    onSuccess: ({ name, warnings = [] }) => {
      notifications.show({
        message: [`Added ${name}. It serves requests from now on.`, ...warnings].join(' '),
        color: 'teal',
      });
      onClose();
      return queryClient.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'playground-key' });
    },
  });
  const edit = (changes: Partial<ProviderSettings>): void => {
    setSettings((before) => ({ ...before, ...changes }));
    add.reset();
    // What was tested is no longer what would be added.
    if (tested.some((name) => name in changes)) test.reset();
  };
  const choose = (name: string | null): void => {
    const found = listedProviders.find((each) => each.name === name);
    setProvider(name);
    if (!found) return;
    edit({
      name: freeName(found.name, channels.data?.data.map((channel) => channel.name) ?? []),
      adapter: found.family,
      base_url: found.baseUrl,
      groups: [...new Set([...found.groups, found.name])].filter((group) => groups.includes(group)),
    });
  };
  return (
    <Dialog opened onClose={onClose} title="Add provider" size="lg">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (test.data) add.mutate();
          else test.mutate();
        }}
      >
        <Stack>
          <Select
            label="Provider"
            description="Fills in what is known of it. Everything can be changed below"
            placeholder="Choose one"
            data={listedProviders.map(({ name, label }) => ({ value: name, label }))}
            value={provider}
            onChange={choose}
            allowDeselect={false}
            searchable
            data-autofocus
          />
          <ProviderFields value={settings} onChange={edit} groups={groups} mayMove />
          {test.error && <ErrorAlert error={test.error} />}
          {test.data && (
            <IntoView>
              <Probed of={test.data} />
            </IntoView>
          )}
          {add.error && <ErrorAlert error={add.error} />}
          <Footer of={test.data} isBusy={test.isPending || add.isPending} isWhole={isWhole} onClose={onClose} />
        </Stack>
      </form>
    </Dialog>
  );
}

/** Tests first, and then adds what was tested. */
function Footer({
  of,
  isBusy,
  isWhole,
  onClose,
}: {
  of: ProbedProvider | undefined;
  isBusy: boolean;
  isWhole: boolean;
  onClose: () => void;
}) {
  return (
    <DialogActions>
      <Button variant="default" onClick={onClose}>
        Cancel
      </Button>
      <Button type="submit" loading={isBusy} disabled={!isWhole} {...(of?.ok === false && { color: 'red.9' })}>
        {of === undefined ? 'Test' : of.ok ? 'Add' : 'Add anyway'}
      </Button>
    </DialogActions>
  );
}

const empty: ProviderSettings = {
  name: '',
  adapter: '',
  base_url: '',
  credential: '',
  groups: [],
  priority: 1,
  weight: 1,
  list_check: true,
};

const tested = ['adapter', 'base_url', 'credential', 'groups'];

/** The name itself, else the name with the first number that no channel has. */
function freeName(name: string, taken: readonly string[]): string {
  let free = name;
  for (let n = 2; taken.includes(free); n += 1) free = `${name}-${n}`;
  return free;
}

/** What the free test came to, and what the provider would serve at which price and margin. */
function Probed({ of: { adapter, ok, call, list, data } }: { of: ProbedProvider }) {
  const { data: catalog } = useQuery({ ...catalogQuery, enabled: data.length > 0 });
  return (
    <Stack gap="xs">
      <Alert color={ok ? 'teal' : 'red'} title={ok ? 'The test succeeded' : 'The test failed'} role="status">
        <Text size="sm" className="breakable">
          {callText(call)} {listText(list)}
        </Text>
      </Alert>
      {data.length === 0 ? (
        <Text size="sm">No model of the catalog is sold by this family in these groups.</Text>
      ) : (
        <div role="region" aria-label="Models that it would serve">
          <Table verticalSpacing="xs" className="listed">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Model</Table.Th>
                <Table.Th>Listed</Table.Th>
                <Table.Th>Price</Table.Th>
                <Table.Th>Smallest margin</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {data.map(({ model, listed }) => (
                <ServedModel
                  key={model}
                  listed={listed}
                  model={model}
                  entry={catalog?.data.find(({ id }) => id === model)}
                  adapter={adapter}
                />
              ))}
            </Table.Tbody>
          </Table>
        </div>
      )}
    </Stack>
  );
}

function ServedModel({
  model,
  listed,
  entry,
  adapter,
}: {
  model: string;
  listed: boolean | null;
  entry: CatalogEntry | undefined;
  adapter: string;
}) {
  const share = entry ? worstShareAt(entry, adapter) : null;
  return (
    <Table.Tr>
      <Table.Td className="breakable">{model}</Table.Td>
      <Table.Td>{listed === null ? 'Unknown' : listed ? 'Yes' : 'No'}</Table.Td>
      <Table.Td>{entry && <Prices of={entry} />}</Table.Td>
      <Table.Td>
        {share === null ? (
          'Not known'
        ) : (
          <Text span inherit {...(share < 0 && { c: 'red', fw: 600 })}>
            {percent(share)}
          </Text>
        )}
      </Table.Td>
    </Table.Tr>
  );
}

function callText({ ok, offered, reason, status, detail }: ProbedProvider['call']): string {
  if (ok) return 'The provider answers and accepts the key.';
  if (!offered) return 'This family has no call that costs nothing, so the key was not tested.';
  const parts = [reason?.replaceAll('_', ' '), status !== null && `status ${status}`, detail];
  return `The provider did not accept the call: ${parts.filter(Boolean).join(', ')}.`;
}

const listText = ({ state, names, detail }: ProbedProvider['list']): string =>
  ({
    complete: `It lists ${names} models.`,
    incomplete: `It lists at least ${names} models, so a missing name means nothing.`,
    not_offered: 'It has no list of models.',
    failed: `Its list of models could not be read: ${detail ?? 'no answer'}.`,
  })[state];
