import { insertChannel, type ChannelRecord } from '../../db/channels/channel-settings.ts';
import type { Deps } from '../../deps.ts';
import { lastCharacters } from '../../domain/channels/last-characters.ts';
import { newId } from '../../platform/crypto/ids.ts';
import { OperatorError } from '../operator-error.ts';
import { credentialContext } from './unseal-credential.ts';

/** Adds a channel, which may be drawn immediately, under its id or a new one. Throws `OperatorError` if its name is taken. */
export async function addChannel(
  { db, sealer }: Pick<Deps, 'db' | 'sealer'>,
  { actor, channelId = newId('chn'), ...record }: ChannelRecord & { channelId?: string; actor: string },
): Promise<{ channelId: string }> {
  const credential = sealer.seal(record.credential, credentialContext(channelId));
  const first = { credentialId: newId('crd'), last4: lastCharacters(record.credential) };
  if (!(await insertChannel(db, { ...record, ...first, channelId, credential, actor })))
    throw new OperatorError(`A channel named ${record.name} already exists. \`channels set\` changes it.`);
  return { channelId };
}
