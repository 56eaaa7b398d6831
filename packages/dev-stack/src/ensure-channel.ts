import { findChannelNamed, type ChannelRecord } from '../../../src/db/channels/channel-settings.ts';
import type { Deps } from '../../../src/deps.ts';
import { addChannel } from '../../../src/services/channels/add-channel.ts';
import { setChannel } from '../../../src/services/channels/set-channel.ts';

/** Adds a channel of this name, or updates the base URL of the existing one and keeps its other settings. */
export async function ensureChannel(
  deps: Pick<Deps, 'db' | 'sealer'>,
  input: ChannelRecord & { actor: string },
): Promise<{ channelId: string; created: boolean }> {
  const existing = await findChannelNamed(deps.db, input.name);
  if (!existing) return { ...(await addChannel(deps, input)), created: true };
  const { channelId } = existing;
  const { baseUrl, actor } = input;
  if (existing.baseUrl !== baseUrl) await setChannel(deps, { channel: channelId, changes: { baseUrl }, actor });
  return { channelId, created: false };
}
