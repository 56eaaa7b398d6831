import { addChannel } from '../../../src/services/channels/add-channel.ts';
import { unsealCredential } from '../../../src/services/channels/unseal-credential.ts';
import { setChannelEnabled } from '../../../src/services/channels/set-channel-enabled.ts';
import { setChannel } from '../../../src/services/channels/set-channel.ts';
import { listAudit } from '../../../src/db/operators/list-audit.ts';
import { listChannels, type ChannelRow } from '../../../src/db/channels/channels.ts';
import type { Deps } from '../../../src/deps.ts';
import { SealError } from '../../../src/platform/crypto/seal.ts';
import { providers, type ProviderKeyName } from './providers.ts';

type ProviderDeps = Pick<Deps, 'config' | 'db' | 'sealer' | 'catalog'>;

export interface ProviderChannel {
  channel: string;
  /** The environment variable of its key. */
  variable: ProviderKeyName;
  enabled: boolean;
}

/**
 * Updates the channels of the provider keys in the environment. A new channel is drawn before the sandbox's. A changed key
 * replaces the stored one. A channel without its key is disabled, and enabled when the key is back. A channel that an operator
 * disabled stays disabled. Returns the channels that have a key.
 */
export async function syncProviderChannels(deps: ProviderDeps, actor: string): Promise<ProviderChannel[]> {
  const { channels } = await listChannels(deps.db);
  const entries = await deps.catalog.entries();
  const catalogGroups = new Set(entries.flatMap((entry) => entry.private.groups));
  const withKey: ProviderChannel[] = [];
  for (const provider of providers) {
    const { variable, setting, family, baseUrl } = provider;
    const name = `env-${provider.name}`;
    const key = deps.config.development[setting];
    const existing = channels.find((channel) => channel.name === name);
    if (key === '') {
      if (existing?.enabled) await setChannelEnabled(deps, { channel: existing.id, enabled: false, actor });
      continue;
    }
    if (existing) {
      const enabled = await bringUpToDate(deps, { existing, key, actor });
      withKey.push({ channel: name, variable, enabled });
      continue;
    }
    const settings = { name, adapter: family, baseUrl, credential: key, priority: 0, weight: 1 };
    const groups = new Set<string>([...provider.groups, provider.name]);
    await addChannel(deps, { ...settings, groups: [...groups].filter((group) => catalogGroups.has(group)), actor });
    withKey.push({ channel: name, variable, enabled: true });
  }
  return withKey;
}

/** Stores a changed key, and enables the channel if `actor` was the last to disable it. Returns whether it is enabled now. */
async function bringUpToDate(
  deps: ProviderDeps,
  { existing, key, actor }: { existing: ChannelRow; key: string; actor: string },
): Promise<boolean> {
  if (!holdsKey(deps, existing, key))
    await setChannel(deps, { channel: existing.id, changes: { credential: key }, actor });
  if (existing.enabled) return true;
  const history = await listAudit(deps.db, { subject: existing.id }, { limit: historyRowsMax, after: null });
  const lastSwitch = history.items.find(({ action }) => action === 'channels.enable' || action === 'channels.disable');
  if (lastSwitch?.actor !== actor) return false;
  await setChannelEnabled(deps, { channel: existing.id, enabled: true, actor });
  return true;
}

const historyRowsMax = 1_000;

function holdsKey({ sealer }: ProviderDeps, channel: ChannelRow, key: string): boolean {
  try {
    return channel.credentials.some((credential) => unsealCredential(sealer, { credential }) === key);
  } catch (error) {
    // The stored credential was sealed under a master key that no longer exists, so the key in the environment replaces it.
    if (error instanceof SealError) return false;
    throw error;
  }
}
