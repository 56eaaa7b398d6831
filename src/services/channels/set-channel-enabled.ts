import { switchChannel } from '../../db/channels/channel-settings.ts';
import type { Deps } from '../../deps.ts';
import { UnknownToOperator } from '../operator-error.ts';

/**
 * Enables or disables a channel, given by id or name, for new attempts. Jobs that it has accepted are still polled. `changed` is
 * false if the channel was in that state before.
 */
export async function setChannelEnabled(
  { db }: Pick<Deps, 'db'>,
  { channel, enabled, actor }: { channel: string; enabled: boolean; actor: string },
) {
  const switched = await switchChannel(db, { channel, enabled, actor });
  if (!switched) throw new UnknownToOperator(`There is no channel ${channel}.`);
  return { ...switched, enabled };
}
