import type { ModelNames } from '../../adapters/channel.ts';
import type { ChannelRow } from '../../db/channels/channels.ts';
import type { Deps } from '../../deps.ts';
import type { Attempt } from '../../domain/channels/upstream.ts';
import { unsealCredential } from './unseal-credential.ts';

/** A list is a few pages of a few hundred names. */
const listTimeoutMs = 20_000;

/**
 * Reads the model list of a channel's provider, which costs nothing. Null if its family has none. Throws `SealError` if the credential
 * cannot be decrypted.
 */
export async function listUpstreamModels(
  { sealer, adapters }: Pick<Deps, 'sealer' | 'adapters'>,
  channel: ChannelRow,
): Promise<Attempt<ModelNames> | null> {
  const adapter = adapters[channel.adapter];
  if (!adapter?.listModels) return null;
  const upstream = {
    channelId: channel.id,
    baseUrl: channel.baseUrl,
    credential: unsealCredential(sealer, channel),
  };
  return adapter.listModels(upstream, { signal: AbortSignal.timeout(listTimeoutMs) });
}
