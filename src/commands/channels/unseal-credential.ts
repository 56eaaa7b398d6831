import type { ChannelRow } from '../../db/channels.ts';
import type { Deps } from '../../deps.ts';
import type { Sealer } from '../../platform/crypto/seal.ts';
import { credentialContext } from './ensure-channel.ts';

/** As long as the channel cache keeps a row, and no longer. */
const opened = new WeakMap<ChannelRow, string>();
const alarmed = new WeakSet<ChannelRow>();

/** A channel's credential in the clear, unsealed once for each row object: a channel serves many requests. Throws `SealError`. */
export function openCredential(sealer: Sealer, channel: ChannelRow): string {
  const known = opened.get(channel);
  if (known !== undefined) return known;
  const credential = sealer.open(channel.sealedCredential, credentialContext(channel.id));
  opened.set(channel, credential);
  return credential;
}

/**
 * The same, or null for one that was sealed under a master key that is not there: no request need wait for an operator where
 * another channel can serve it. The alarm is raised once for each row object.
 */
export function usableCredential(
  { sealer, logger }: Pick<Deps, 'sealer' | 'logger'>,
  channel: ChannelRow,
): string | null {
  try {
    return openCredential(sealer, channel);
  } catch (error) {
    if (!alarmed.has(channel)) {
      logger.error({ err: error, channel: channel.name, alarm: true }, "a channel's credential cannot be opened");
    }
    alarmed.add(channel);
    return null;
  }
}
