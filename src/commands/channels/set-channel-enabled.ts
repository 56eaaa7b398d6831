import { recordAudit } from '../../db/audit.ts';
import { switchChannel } from '../../db/channel-settings.ts';
import type { Deps } from '../../deps.ts';
import { OperatorError } from '../operator-error.ts';

export interface SwitchedChannel {
  channelId: string;
  name: string;
  enabled: boolean;
  /** False when it was so before. */
  changed: boolean;
}

/** Lets a channel, named by its id or name, take new attempts or not. Jobs that it has accepted are still polled. */
export async function setChannelEnabled(
  { db }: Pick<Deps, 'db'>,
  { channel, enabled, actor }: { channel: string; enabled: boolean; actor: string },
): Promise<SwitchedChannel> {
  const switched = await switchChannel(db, channel, enabled);
  if (!switched) throw new OperatorError(`There is no channel ${channel}.`);
  const { channelId, name, changed } = switched;
  const action = enabled ? 'channels.enable' : 'channels.disable';
  if (changed) await recordAudit(db, { actor, action, subject: channelId, detail: { name } });
  return { channelId, name, enabled, changed };
}
