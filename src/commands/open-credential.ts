import type { ChannelRow } from '../db/channels.ts';
import type { Sealer } from '../platform/seal.ts';
import { credentialContext } from './ensure-channel.ts';

/** As long as the channel cache keeps a row, and no longer. */
const opened = new WeakMap<ChannelRow, string>();

/** A channel's credential in the clear, unsealed once for each row object: a channel serves many requests. Throws `SealError`. */
export function openCredential(sealer: Sealer, channel: ChannelRow): string {
  const known = opened.get(channel);
  if (known !== undefined) return known;
  const credential = sealer.open(channel.sealedCredential, credentialContext(channel.id));
  opened.set(channel, credential);
  return credential;
}
