import { listChannels, type ChannelRow } from '../../db/channels/channels.ts';
import type { Deps } from '../../deps.ts';
import type { Attempt } from '../../domain/channels/upstream.ts';
import { SealError } from '../../platform/crypto/seal.ts';
import { OperatorError, UnknownToOperator } from '../operator-error.ts';
import { probeChannel } from './free-calls.ts';

export interface ChannelTest {
  channelId: string;
  name: string;
  adapter: string;
  /** `not_offered`: the adapter family has no free call. */
  answer: Attempt<true> | { kind: 'not_offered' };
  /** How long the answer took, in milliseconds. */
  tookMs: number;
}

/**
 * Checks with the adapter's free call whether a channel, given by id or name, answers and accepts our credential. Does not change
 * the channel's health. Throws `OperatorError` if the call cannot be made.
 */
export const testChannel = async (
  deps: Pick<Deps, 'db' | 'sealer' | 'adapters'>,
  named: string,
): Promise<ChannelTest> => testChannelRow(deps, await demandChannel(deps, named));

/** The channel with this id or name. Throws `UnknownToOperator` if there is none. */
export async function demandChannel({ db }: Pick<Deps, 'db'>, named: string): Promise<ChannelRow> {
  const { channels } = await listChannels(db);
  const channel = channels.find(({ id, name }) => id === named || name === named);
  if (!channel) throw new UnknownToOperator(`There is no channel ${named}.`);
  return channel;
}

/** The same for a channel that was read, or that is not stored yet. */
export async function testChannelRow(
  deps: Pick<Deps, 'sealer' | 'adapters'>,
  channel: ChannelRow,
): Promise<ChannelTest> {
  if (!deps.adapters[channel.adapter]) throw new OperatorError(`There is no adapter ${channel.adapter}.`);
  const about = { channelId: channel.id, name: channel.name, adapter: channel.adapter };
  const startedAt = performance.now();
  try {
    const answer = await probeChannel(deps, channel);
    return { ...about, answer: answer ?? { kind: 'not_offered' }, tookMs: Math.round(performance.now() - startedAt) };
  } catch (cause) {
    if (!(cause instanceof SealError)) throw cause;
    throw new OperatorError(`The credential of ${channel.name} cannot be decrypted: ${cause.message}.`, { cause });
  }
}
