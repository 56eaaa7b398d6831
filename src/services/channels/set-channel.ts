import { updateChannel, type ChannelRecord } from '../../db/channels/channel-settings.ts';
import type { Deps } from '../../deps.ts';
import { OperatorError, UnknownToOperator } from '../operator-error.ts';
import { credentialContext } from './unseal-credential.ts';

/**
 * Changes the given settings of a channel, given by id or name, and returns the channel as it is then. A new base URL, adapter or
 * credential also ends its cool-downs, trips and alarms. Throws `OperatorError` for an unknown channel, a taken name, or a new
 * adapter while calls of the channel run, because the new adapter could not read their references.
 */
export async function setChannel(
  { db, sealer }: Pick<Deps, 'db' | 'sealer'>,
  { channel, changes, actor }: { channel: string; changes: Partial<ChannelRecord>; actor: string },
) {
  if (Object.keys(changes).length === 0) throw new OperatorError('Nothing to change: name at least one setting.');
  const { credential } = changes;
  const updated = await updateChannel(db, {
    channel,
    changes,
    actor,
    seal: (settings, channelId) => sealer.seal(settings, credentialContext(channelId)),
    forgetHealth: credential !== undefined || 'baseUrl' in changes || 'adapter' in changes,
  });
  if (updated === 'unknown') throw new UnknownToOperator(`There is no channel ${channel}.`);
  if (updated === 'name_taken') throw new OperatorError(`A channel named ${String(changes.name)} already exists.`);
  if (updated === 'busy') {
    throw new OperatorError(
      `${channel} has calls that run, and another adapter could not read their references. Add a new channel and disable this one.`,
    );
  }
  const { channelId, after } = updated;
  const { credential: _sealed, ...shown } = after;
  return { channelId, channel: shown, credentialChanged: credential !== undefined };
}
