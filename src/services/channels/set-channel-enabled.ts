import { recordAudit } from '../../db/operators/audit.ts';
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
  const action = enabled ? 'channels.enable' : 'channels.disable';
  const switched = await db.entities(async (em) => {
    const result = await switchChannel(em, channel, enabled);
    if (result?.changed) {
      const change = { before: { enabled: !enabled }, after: { enabled }, detail: { name: result.name } };
      await recordAudit(em, { actor, action, subject: result.channelId, ...change });
    }
    return result;
  });
  if (!switched) throw new UnknownToOperator(`There is no channel ${channel}.`);
  return { ...switched, enabled };
}
