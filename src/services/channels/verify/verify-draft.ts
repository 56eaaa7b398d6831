import type { ChannelRow } from '../../../db/channels/channels.ts';
import { newId } from '../../../platform/crypto/ids.ts';
import { testChannelRow } from '../test-channel.ts';
import { credentialContext } from '../unseal-credential.ts';
import type { VerifyDeps } from './ask-once.ts';
import { verifyChannelRow, type ChannelVerification } from './verify-channel.ts';

/** A channel before it is added. */
export type ChannelDraft = Pick<ChannelRow, 'adapter' | 'baseUrl' | 'groups'> & { credential: string };

/**
 * Checks a provider that is not a channel yet: whether it answers, accepts the credential, and lists each model that the channel would serve.
 * Costs nothing and stores nothing. Throws `OperatorError` if no call can be made.
 */
export async function verifyDraft(
  deps: VerifyDeps,
  { credential, ...settings }: ChannelDraft,
): Promise<ChannelVerification> {
  const id = newId('chn');
  const first = {
    id,
    sealed: deps.sealer.seal(credential, credentialContext(id)),
    sealedFor: id,
    last4: null,
    unavailableUntilMs: 0,
    alarm: null,
  };
  const channel: ChannelRow = {
    ...settings,
    id,
    name: 'The provider',
    credential: first,
    credentials: [first],
    isPooled: false,
    isLimited: false,
    priority: 1,
    weight: 1,
    enabled: false,
    listCheck: true,
    unavailableUntil: {},
    troubledModels: [],
    trippedModels: [],
    unreachableModels: [],
    notDrawn: {},
    alarms: {},
  };
  return verifyChannelRow(deps, { channel, test: await testChannelRow(deps, channel), live: null });
}
