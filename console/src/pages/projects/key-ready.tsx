import { Alert, Button, Stack, Text } from '@mantine/core';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { read } from '../../api/admin.ts';
import { sessionQuery } from '../../api/session.ts';
import { CodeTabs } from '../../ui/code-tabs.tsx';
import { Dialog, DialogActions } from '../../ui/dialog.tsx';
import { Loaded } from '../../ui/page.tsx';
import { Copyable } from '../../ui/values.tsx';
import { keyLines } from './key-lines.ts';

/** A new secret, and what of its key decides which lines work with it. */
export interface ReadyKey {
  keyId: string;
  secret: string;
  scopes: readonly string[];
}

/** Shows the secret of a key this once, with everything that a first call needs. */
export function KeyReady({ ready, onClose }: { ready: ReadyKey; onClose: () => void }) {
  const { data: session } = useQuery(sessionQuery);
  const models = useQuery(usableQuery(ready.keyId));
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
        <Loaded of={models}>{(usable) => <Lines ready={ready} baseUrl={baseUrl} usable={usable} />}</Loaded>
        <DialogActions>
          <Button onClick={onClose}>I have copied it</Button>
        </DialogActions>
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

function Lines({ ready: { secret, scopes }, baseUrl, usable }: { ready: ReadyKey; baseUrl: string; usable: Usable }) {
  const samples = keyLines({
    baseUrl,
    secret,
    chatModel: scopes.includes('chat') ? usable.chat : undefined,
    imageModel: scopes.includes('media') ? usable.image : undefined,
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

/** The first model of a type that a key may use and that a channel serves. */
type Usable = Record<'chat' | 'image', string | undefined>;

const usableQuery = (keyId: string) =>
  queryOptions({
    queryKey: ['/models', 'usable', keyId],
    queryFn: async (): Promise<Usable> => {
      const [chat, image] = await Promise.all(
        (['chat', 'image'] as const).map((type) => read('/models', { usable_by: keyId, type, limit: 1 })),
      );
      return { chat: chat?.data[0]?.id, image: image?.data[0]?.id };
    },
  });
