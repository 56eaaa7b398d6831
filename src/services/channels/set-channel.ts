import {
  CredentialRefused,
  type CredentialChange,
  type CredentialSealing,
} from '../../db/channels/channel-credentials.ts';
import { updateChannel, type ChannelRecord } from '../../db/channels/channel-settings.ts';
import type { Deps } from '../../deps.ts';
import { lastCharacters } from '../../domain/channels/last-characters.ts';
import { newId } from '../../platform/crypto/ids.ts';
import { SealError, type Sealer } from '../../platform/crypto/seal.ts';
import { OperatorError, UnknownToOperator } from '../operator-error.ts';
import { credentialContext } from './unseal-credential.ts';

interface ChannelChanges {
  /** The id or the name. */
  channel: string;
  changes: Partial<ChannelRecord>;
  /** The secret of one more credential. */
  credentialAdd?: string | undefined;
  /** The id or the last characters of a credential. Its jobs are not polled any more. */
  credentialRemove?: string | undefined;
  /** The limits of one credential, by its id or last characters, or of `all`. */
  credentialLimit?: CredentialChange['limit'] | undefined;
  actor: string;
}

/**
 * Changes the given settings of a channel, given by id or name, and returns the channel as it is then. A new base URL, adapter or
 * first credential also ends its cool-downs, trips and alarms. Throws `OperatorError` for an unknown channel, a taken name, a credential
 * that cannot be added or removed, or a new adapter while calls of the channel run, because the new adapter could not read their references.
 */
export async function setChannel(
  { db, sealer }: Pick<Deps, 'db' | 'sealer'>,
  { channel, changes, credentialAdd, credentialRemove, credentialLimit, actor }: ChannelChanges,
) {
  const credentials = {
    ...(credentialAdd !== undefined && {
      add: { id: newId('crd'), secret: credentialAdd, last4: lastCharacters(credentialAdd) },
    }),
    ...(credentialRemove !== undefined && { remove: credentialRemove }),
    ...(credentialLimit && { limit: credentialLimit }),
  };
  if (Object.keys({ ...changes, ...credentials }).length === 0)
    throw new OperatorError('Nothing to change: name at least one setting.');
  const { credential } = changes;
  const isElsewhere = 'baseUrl' in changes || 'adapter' in changes;
  const updated = await updateChannel(db, {
    channel,
    changes,
    actor,
    last4: credential === undefined ? null : lastCharacters(credential),
    credentials,
    sealing: sealingOf(sealer),
    forgetHealth: isElsewhere ? 'all' : credential !== undefined && 'first',
  }).catch((error: unknown) => {
    throw error instanceof CredentialRefused ? new OperatorError(refusals[error.why]) : error;
  });
  if (updated === 'unknown') throw new UnknownToOperator(`There is no channel ${channel}.`);
  if (updated === 'name_taken') throw new OperatorError(`A channel named ${String(changes.name)} already exists.`);
  if (updated === 'busy') {
    throw new OperatorError(
      `${channel} has calls that run, and another adapter could not read their references. Add a new channel and disable this one.`,
    );
  }
  const { channelId, after } = updated;
  const { credential: _sealed, ...shown } = after;
  const credentialId = credentials.add?.id ?? null;
  return { channelId, channel: shown, credentialChanged: credential !== undefined, credentialId };
}

const refusals: Readonly<Record<CredentialRefused['why'], string>> = {
  unknown: 'The channel has no such credential. `channels list --json` has the ids and the last characters of all.',
  ambiguous: 'Several credentials of the channel end so. Name the credential by its id.',
  last: 'A channel needs a credential, and this is its only one. `--credential` replaces it.',
  twice: 'The channel has this credential already.',
};

const sealingOf = (sealer: Sealer): CredentialSealing => ({
  seal: (secret, rowId) => sealer.seal(secret, credentialContext(rowId)),
  move: (sealed, from, to) => sealer.seal(sealer.open(sealed, credentialContext(from)), credentialContext(to)),
  holds(sealed, rowId, secret) {
    try {
      return sealer.open(sealed, credentialContext(rowId)) === secret;
    } catch (error) {
      // No configured key decrypts it, so that it is not known to be the same.
      if (error instanceof SealError) return false;
      throw error;
    }
  },
});
