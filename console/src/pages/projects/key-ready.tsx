import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { isAllowed } from '../../../../src/domain/catalog/model-names.ts';
import { isOffered } from '../../../../src/domain/catalog/model-list.ts';
import { catalogQuery, channelsQuery } from '../../api/queries.ts';
import { sessionQuery } from '../../api/session.ts';
import type { CatalogEntry, Channel, Key } from '../../api/admin-types.ts';
import { CodeTabs } from '../../ui/code-tabs.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Loaded } from '../../ui/page.tsx';
import { Copyable } from '../../ui/values.tsx';
import { entryOfRules } from '../models/entry-of-rules.ts';
import { keyLines } from './key-lines.ts';

/** A new secret, and what of its key decides which lines work with it. */
export interface ReadyKey extends Pick<Key, 'models'> {
  secret: string;
  scopes: readonly string[];
}

/** Shows the secret of a key this once, with everything that a first call needs. */
export function KeyReady({ ready, onClose }: { ready: ReadyKey; onClose: () => void }) {
  const { data: session } = useQuery(sessionQuery);
  const catalog = useQuery(catalogQuery);
  const { data: channels } = useQuery(channelsQuery);
  const baseUrl = (session?.public_base_url || location.origin).replace(/\/+$/, '');
  return (
    <Dialog opened onClose={onClose} title="The key is ready" size="lg" closeOnClickOutside={false}>
      <Stack>
        <Alert color="yellow">
          Copy the secret now and keep it safe. It is shown this once: only its digest is stored.
        </Alert>
        <Labelled label="Secret">
          <Copyable text={ready.secret} label="Copy the secret" wrap />
        </Labelled>
        <Labelled label="Base URL">
          <Copyable text={baseUrl} label="Copy the base URL" wrap />
          <Text size="xs" c="dimmed">
            With /v1 behind it for OpenAI’s SDKs and for most other programs.
          </Text>
        </Labelled>
        <Loaded of={catalog}>
          {({ data }) => <Lines ready={ready} baseUrl={baseUrl} entries={data} channels={channels?.data ?? []} />}
        </Loaded>
        <Group justify="flex-end">
          <Button onClick={onClose}>I have copied it</Button>
        </Group>
      </Stack>
    </Dialog>
  );
}

function Labelled({ label, children }: { label: string; children: React.ReactNode }) {
  return (
    <div>
      <Text size="sm" fw={500}>
        {label}
      </Text>
      {children}
    </div>
  );
}

function Lines({
  ready: { secret, scopes, models },
  baseUrl,
  entries,
  channels,
}: {
  ready: ReadyKey;
  baseUrl: string;
  entries: readonly CatalogEntry[];
  channels: readonly Channel[];
}) {
  const usable = entries.filter((entry) => {
    const entryHere = entryOfRules(entry);
    return isOffered(entryHere) && isAllowed(models, entryHere) && isServed(entry, channels);
  });
  const samples = keyLines({
    baseUrl,
    secret,
    chatModel: scopes.includes('chat') ? usable.find(({ type }) => type === 'chat')?.id : undefined,
    imageModel: scopes.includes('media') ? usable.find(({ type }) => type === 'image')?.id : undefined,
  });
  if (samples.length > 0) return <CodeTabs samples={samples} />;
  return (
    <Text size="sm" c="dimmed">
      {scopes.includes('chat') || scopes.includes('media')
        ? 'No channel serves a model that this key may use yet. Add a provider, then try it in the playground.'
        : 'This key reads lists and usage only.'}
    </Text>
  );
}

const isServed = ({ private: { groups, upstream } }: CatalogEntry, channels: readonly Channel[]): boolean =>
  channels.some(
    ({ enabled, adapter, groups: served }) =>
      enabled && adapter in upstream && served.some((each) => groups.includes(each)),
  );
