import type { ModelNames } from '../../adapters/channel.ts';
import type { ChannelRow } from '../../db/channels/channels.ts';
import type { Deps } from '../../deps.ts';
import type { Attempt } from '../../domain/channels/upstream.ts';
import { pausableTimeout } from '../../platform/silence-timer.ts';
import { unsealCredential } from './unseal-credential.ts';

type FreeCallDeps = Pick<Deps, 'sealer' | 'adapters'>;

const probeTimeoutMs = 10_000;
/** A list is a few pages of a few hundred names. */
const listTimeoutMs = 20_000;

/**
 * Checks with the adapter's free call whether a channel answers and accepts our credential. Null if its family has no free call.
 * Throws `SealError` if the credential cannot be decrypted.
 */
export const probeChannel = async (deps: FreeCallDeps, channel: ChannelRow): Promise<Attempt<true> | null> =>
  (await deps.adapters[channel.adapter]?.probe?.(...argumentsOf(deps, channel, probeTimeoutMs))) ?? null;

/** Reads the model list of a channel's provider. Null if its family has none. Throws as `probeChannel` does. */
export const listUpstreamModels = async (
  deps: FreeCallDeps,
  channel: ChannelRow,
): Promise<Attempt<ModelNames> | null> =>
  (await deps.adapters[channel.adapter]?.listModels?.(...argumentsOf(deps, channel, listTimeoutMs))) ?? null;

const argumentsOf = ({ sealer }: FreeCallDeps, channel: ChannelRow, timeoutMs: number) =>
  [
    { channelId: channel.id, baseUrl: channel.baseUrl, credential: unsealCredential(sealer, channel) },
    { signal: pausableTimeout(timeoutMs) },
  ] as const;
