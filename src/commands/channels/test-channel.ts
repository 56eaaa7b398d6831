import { listChannels } from '../../db/channels.ts';
import type { Deps } from '../../deps.ts';
import type { Attempt } from '../../domain/upstream.ts';
import { SealError } from '../../platform/crypto/seal.ts';
import { credentialContext } from './ensure-channel.ts';
import { OperatorError } from '../operator-error.ts';

export interface ChannelTest {
  channelId: string;
  name: string;
  adapter: string;
  /** `not_offered`: the family has no call that costs nothing. */
  answer: Attempt<true> | { kind: 'not_offered' };
  /** How long the answer took, in milliseconds. */
  tookMs: number;
}

const testTimeoutMs = 10_000;

/**
 * Asks a channel, named by its id or name, by its adapter's free call: whether it is there and takes our credential. Buys
 * nothing and changes nothing, its health included. Throws `OperatorError` for a channel that cannot be asked at all.
 */
export async function testChannel(
  { db, sealer, adapters }: Pick<Deps, 'db' | 'sealer' | 'adapters'>,
  named: string,
): Promise<ChannelTest> {
  const { channels } = await listChannels(db);
  const channel = channels.find(({ id, name }) => id === named || name === named);
  if (!channel) throw new OperatorError(`There is no channel ${named}.`);
  const adapter = adapters[channel.adapter];
  if (!adapter) throw new OperatorError(`Nothing here speaks ${channel.adapter}.`);
  const about = { channelId: channel.id, name: channel.name, adapter: channel.adapter };
  if (!adapter.probe) return { ...about, answer: { kind: 'not_offered' }, tookMs: 0 };
  const upstream = { channelId: channel.id, baseUrl: channel.baseUrl, credential: '' };
  try {
    upstream.credential = sealer.open(channel.sealedCredential, credentialContext(channel.id));
  } catch (cause) {
    if (!(cause instanceof SealError)) throw cause;
    throw new OperatorError(`The credential of ${channel.name} cannot be opened: ${cause.message}.`, { cause });
  }
  const startedAt = performance.now();
  const answer = await adapter.probe(upstream, { signal: AbortSignal.timeout(testTimeoutMs) });
  return { ...about, answer, tookMs: Math.round(performance.now() - startedAt) };
}
