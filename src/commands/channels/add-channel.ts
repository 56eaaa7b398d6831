import { recordAudit } from '../../db/audit.ts';
import { insertChannel } from '../../db/channel-settings.ts';
import type { Deps } from '../../deps.ts';
import { newId } from '../../platform/crypto/ids.ts';
import { credentialContext, type ChannelSettings } from './ensure-channel.ts';
import { OperatorError } from '../operator-error.ts';

/** Adds a channel, which takes attempts at once. Throws `OperatorError` when its name is taken. */
export async function addChannel(
  { db, sealer }: Pick<Deps, 'db' | 'sealer'>,
  { actor, ...given }: ChannelSettings & { actor: string },
): Promise<{ channelId: string }> {
  const channelId = newId('chn');
  const credential = sealer.seal(given.credential, credentialContext(channelId));
  if (!(await insertChannel(db, channelId, { ...given, credential }))) {
    throw new OperatorError(`There is a channel ${given.name} already. \`channels set\` changes it.`);
  }
  const { credential: _sealedAway, ...shown } = given;
  await recordAudit(db, { actor, action: 'channels.add', subject: channelId, detail: shown });
  return { channelId };
}
