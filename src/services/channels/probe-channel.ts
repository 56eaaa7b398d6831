import type { ChannelRow } from '../../db/channels/channels.ts';
import type { Deps } from '../../deps.ts';
import type { Attempt } from '../../domain/channels/upstream.ts';
import { unsealCredential } from './unseal-credential.ts';

const probeTimeoutMs = 10_000;

/**
 * Checks with the adapter's free call whether a channel answers and accepts our credential. Null if its family has no free call.
 * Throws `SealError` if the credential cannot be decrypted.
 */
export async function probeChannel(
  { sealer, adapters }: Pick<Deps, 'sealer' | 'adapters'>,
  channel: ChannelRow,
): Promise<Attempt<true> | null> {
  const adapter = adapters[channel.adapter];
  if (!adapter?.probe) return null;
  const credential = unsealCredential(sealer, channel);
  const upstream = { channelId: channel.id, baseUrl: channel.baseUrl, credential };
  return adapter.probe(upstream, { signal: AbortSignal.timeout(probeTimeoutMs) });
}
