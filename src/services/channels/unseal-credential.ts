import type { ChannelRow } from '../../db/channels/channels.ts';
import type { Deps } from '../../deps.ts';
import type { Sealer } from '../../platform/crypto/seal.ts';
import { alarmOf } from '../../domain/operators/alarm.ts';

/** Binds a sealed credential to its channel's row, so that it cannot be decrypted from another row. */
export const credentialContext = (channelId: string) => `channel|credential|${channelId}` as const;

// Both forget a row when the channel cache does.
const unsealed = new WeakMap<ChannelRow, string>();
const alarmed = new WeakSet<ChannelRow>();

/** A channel's decrypted credential. Decrypted once per row object, because a channel serves many requests. Throws `SealError`. */
export function unsealCredential(sealer: Sealer, channel: ChannelRow): string {
  const cached = unsealed.get(channel);
  if (cached !== undefined) return cached;
  const credential = sealer.open(channel.sealedCredential, credentialContext(channel.id));
  unsealed.set(channel, credential);
  return credential;
}

/**
 * A channel's decrypted credential, or null if its master key is missing, because another channel may serve the request. Raises
 * the alarm once per row object.
 */
export function usableCredential(
  { sealer, logger }: Pick<Deps, 'sealer' | 'logger'>,
  channel: ChannelRow,
): string | null {
  try {
    return unsealCredential(sealer, channel);
  } catch (error) {
    if (!alarmed.has(channel)) {
      logger.error(
        { err: error, channel: channel.name, ...alarmOf('credential_unreadable') },
        'the credential of a channel cannot be decrypted',
      );
    }
    alarmed.add(channel);
    return null;
  }
}
