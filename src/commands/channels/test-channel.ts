import { listChannels } from '../../db/channels.ts';
import type { Deps } from '../../deps.ts';
import type { Attempt } from '../../domain/upstream.ts';
import { SealError } from '../../platform/crypto/seal.ts';
import { OperatorError } from '../operator-error.ts';
import { unsealCredential } from './unseal-credential.ts';

export interface ChannelTest {
  channelId: string;
  name: string;
  adapter: string;
  /** `not_offered`: the adapter family has no free call. */
  answer: Attempt<true> | { kind: 'not_offered' };
  /** How long the answer took, in milliseconds. */
  tookMs: number;
}

const testTimeoutMs = 10_000;

/**
 * Checks with the adapter's free call whether a channel, given by id or name, answers and accepts our credential. Does not change
 * the channel's health. Throws `OperatorError` if the call cannot be made.
 */
export async function testChannel(
  { db, sealer, adapters }: Pick<Deps, 'db' | 'sealer' | 'adapters'>,
  named: string,
): Promise<ChannelTest> {
  const { channels } = await listChannels(db);
  const channel = channels.find(({ id, name }) => id === named || name === named);
  if (!channel) throw new OperatorError(`There is no channel ${named}.`);
  const adapter = adapters[channel.adapter];
  if (!adapter) throw new OperatorError(`There is no adapter ${channel.adapter}.`);
  const about = { channelId: channel.id, name: channel.name, adapter: channel.adapter };
  if (!adapter.probe) return { ...about, answer: { kind: 'not_offered' }, tookMs: 0 };
  const upstream = { channelId: channel.id, baseUrl: channel.baseUrl, credential: '' };
  try {
    upstream.credential = unsealCredential(sealer, channel);
  } catch (cause) {
    if (!(cause instanceof SealError)) throw cause;
    throw new OperatorError(`The credential of ${channel.name} cannot be decrypted: ${cause.message}.`, { cause });
  }
  const startedAt = performance.now();
  const answer = await adapter.probe(upstream, { signal: AbortSignal.timeout(testTimeoutMs) });
  return { ...about, answer, tookMs: Math.round(performance.now() - startedAt) };
}
