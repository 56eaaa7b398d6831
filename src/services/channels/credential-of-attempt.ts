import { credentialOfAttempt } from '../../db/channels/credential-of-attempt.ts';
import { withCredential, type ChannelRow } from '../../db/channels/channels.ts';
import type { Deps } from '../../deps.ts';

/** Why a job of a provider cannot be asked about any more: another account would not find it. */
export const removedCredential = 'the credential that submitted the job was removed from its channel';

/**
 * The channel as calls about a submitted job see it: with the credential that submitted it, also while that one cools down. Null if it
 * was removed. Asks the database only for channels that have, or had, several.
 */
export async function channelOfAttempt(
  { db }: Pick<Deps, 'db'>,
  channel: ChannelRow,
  attemptId: string,
): Promise<ChannelRow | null> {
  return channel.isPooled ? channelSending(channel, await credentialOfAttempt(db, attemptId)) : channel;
}

/** An attempt of an earlier release names no credential: its channel had one only, which is its oldest. */
export const channelSending = (channel: ChannelRow, credentialId: string | null): ChannelRow | null =>
  withCredential(channel, credentialId ?? channel.credentials[0]?.id ?? channel.credential.id);
