import { recordAudit } from '../../db/audit.ts';
import { Channel } from '../../db/entities/channel.ts';
import type { Deps } from '../../deps.ts';
import { newId } from '../../platform/crypto/ids.ts';

export interface ChannelSettings {
  name: string;
  adapter: string;
  baseUrl: string;
  credential: string;
  groups: string[];
  priority: number;
  weight: number;
}

/** What a channel's sealed credential is bound to. */
export const credentialContext = (channelId: string) => `channel|credential|${channelId}` as const;

/** Makes the channel of this name if there is none, else brings its base URL up to date; what an operator set stays. */
export async function ensureChannel(
  { db, sealer }: Pick<Deps, 'db' | 'sealer'>,
  { actor, ...given }: ChannelSettings & { actor: string },
): Promise<{ channelId: string; created: boolean }> {
  const em = (await db.orm()).em.fork();
  const existing = await em.findOne(Channel, { name: given.name });
  if (existing) {
    if (existing.baseUrl !== given.baseUrl) {
      existing.baseUrl = given.baseUrl;
      await em.flush();
    }
    return { channelId: existing.id, created: false };
  }
  const channelId = newId('chn');
  em.create(Channel, {
    id: channelId,
    ...given,
    credential: sealer.seal(given.credential, credentialContext(channelId)),
  });
  await em.flush();
  const { credential: _sealedAway, ...shown } = given;
  await recordAudit(db, { actor, action: 'channels.add', subject: channelId, detail: shown });
  return { channelId, created: true };
}
