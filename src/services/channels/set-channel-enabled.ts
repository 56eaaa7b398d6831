import { switchChannel } from '../../db/channels/channel-settings.ts';
import type { Deps } from '../../deps.ts';
import { demand } from '../operator-error.ts';

export interface ChannelSwitch {
  channelId: string;
  name: string;
  enabled: boolean;
  /** False if it was in that state before. */
  changed: boolean;
}

/**
 * Enables or disables a channel, given by id or name, for new attempts. Jobs that it has accepted are still polled. Throws `OperatorError`
 * for an unknown channel.
 */
export async function setChannelEnabled(
  { db }: Pick<Deps, 'db'>,
  { channel, enabled, actor }: { channel: string; enabled: boolean; actor: string },
): Promise<ChannelSwitch> {
  const switched = demand(await switchChannel(db, { channel, enabled, actor }), `channel ${channel}`);
  return { ...switched, enabled };
}
