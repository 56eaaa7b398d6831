import { recordAudit } from '../../db/audit.ts';
import { switchChannel } from '../../db/channel-settings.ts';
import type { Deps } from '../../deps.ts';
import { OperatorError } from '../operator-error.ts';

/**
 * Enables or disables a channel, given by id or name, for new attempts. Jobs that it has accepted are still polled. `changed` is
 * false if the channel was in that state before.
 */
export async function setChannelEnabled(
  { db }: Pick<Deps, 'db'>,
  { channel, enabled, actor }: { channel: string; enabled: boolean; actor: string },
) {
  const switched = await switchChannel(db, channel, enabled);
  if (!switched) throw new OperatorError(`There is no channel ${channel}.`);
  const { channelId, name, changed } = switched;
  const action = enabled ? 'channels.enable' : 'channels.disable';
  if (changed) await recordAudit(db, { actor, action, subject: channelId, detail: { name } });
  return { channelId, name, enabled, changed };
}
