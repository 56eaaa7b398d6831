import { recordAudit } from '../../db/audit.ts';
import { updateChannel, type ChannelRecord } from '../../db/channel-settings.ts';
import type { Deps } from '../../deps.ts';
import { credentialContext, type ChannelSettings } from './ensure-channel.ts';
import { OperatorError } from '../operator-error.ts';

export interface ChangedChannel {
  channelId: string;
  /** As it is now. */
  channel: Omit<ChannelRecord, 'credential'>;
  credentialChanged: boolean;
}

/**
 * Changes the given settings of a channel, named by its id or name. Another address or credential also ends its cool-downs, trips
 * and alarms, which belonged to the old one. Throws `OperatorError` for an unknown channel, a taken name, or another adapter
 * while calls of the channel run, whose references it could not read.
 */
export async function setChannel(
  { db, sealer }: Pick<Deps, 'db' | 'sealer'>,
  { channel, changes, actor }: { channel: string; changes: Partial<ChannelSettings>; actor: string },
): Promise<ChangedChannel> {
  const { credential, ...plain } = changes;
  const given = Object.fromEntries(Object.entries(plain).filter(([, value]) => value !== undefined));
  if (Object.keys(given).length === 0 && credential === undefined)
    throw new OperatorError('Nothing to change was named.');
  const updated = await updateChannel(
    db,
    channel,
    (channelId) => ({
      ...given,
      ...(credential !== undefined && { credential: sealer.seal(credential, credentialContext(channelId)) }),
    }),
    { forgetHealth: credential !== undefined || 'baseUrl' in given || 'adapter' in given },
  );
  if (updated === 'unknown') throw new OperatorError(`There is no channel ${channel}.`);
  if (updated === 'name_taken') throw new OperatorError(`There is a channel ${String(changes.name)} already.`);
  if (updated === 'busy') {
    throw new OperatorError(
      `${channel} has calls that run, which another adapter could not follow. Add a channel, and disable this one.`,
    );
  }
  const { channelId, before, after } = updated;
  await recordAudit(db, {
    actor,
    action: 'channels.set',
    subject: channelId,
    detail: {
      ...Object.fromEntries(
        settingNames.flatMap(([name, field]) =>
          field in given ? [[name, { from: before[field], to: after[field] }]] : [],
        ),
      ),
      ...(credential !== undefined && { credential: 'changed' }),
    },
  });
  const { credential: _sealed, ...shown } = after;
  return { channelId, channel: shown, credentialChanged: credential !== undefined };
}

/** As the audit and the command line name them. */
const settingNames = [
  ['name', 'name'],
  ['adapter', 'adapter'],
  ['base_url', 'baseUrl'],
  ['groups', 'groups'],
  ['priority', 'priority'],
  ['weight', 'weight'],
] as const satisfies readonly (readonly [string, keyof ChannelRecord])[];
