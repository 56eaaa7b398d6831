import { listClosures, reopenChannel, type Closure } from '../../db/channels.ts';
import type { Deps } from '../../deps.ts';
import { openCredential } from './open-credential.ts';

export type ProbeDeps = Pick<Deps, 'config' | 'db' | 'channels' | 'adapters' | 'sealer' | 'logger'>;

const lanes = 8;
const probeTimeoutMs = 10_000;

/**
 * Asks each enabled channel that the breaker has opened, by its adapter's free call, and lets one call at a time back in when
 * it answers (spec §4.8 check-api-channels). A rest after 429 or for our account's sake is kept to its end: the free call is
 * not what was limited. Families without a free call wait their time out.
 */
export async function probeChannels(deps: ProbeDeps): Promise<{ probed: number; reopened: number; failed: number }> {
  const queue = await listClosures(deps.db);
  const count = { probed: 0, reopened: 0, failed: 0 };
  const lane = async (): Promise<void> => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const came = await probe(deps, next);
      if (came === 'not_offered') continue;
      count.probed += 1;
      if (came !== 'closed') count[came] += 1;
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  if (count.reopened > 0) deps.channels.forget();
  return count;
}

/** `closed`: it answered well, but what was seen of it is over. Never rejects: what goes wrong with one is no other's trouble. */
async function probe(deps: ProbeDeps, closure: Closure): Promise<'reopened' | 'closed' | 'failed' | 'not_offered'> {
  const { channelId, modelIds } = closure;
  const about: Record<string, unknown> = { channel_id: channelId, models: modelIds };
  try {
    const channel = await deps.channels.find(channelId);
    const adapter = channel && deps.adapters[channel.adapter];
    if (!channel || !adapter?.probe) return 'not_offered';
    about['channel'] = channel.name;
    const credential = openCredential(deps.sealer, channel);
    const upstream = { channelId, baseUrl: channel.baseUrl, credential };
    const answer = await adapter.probe(upstream, { signal: AbortSignal.timeout(probeTimeoutMs) });
    deps.logger.info({ ...about, answer: answer.kind }, 'a closed channel was probed');
    if (answer.kind !== 'ok') return 'failed';
    return (await reopenChannel(deps.db, closure)) ? 'reopened' : 'closed';
  } catch (error) {
    deps.logger.warn({ ...about, err: error }, 'a closed channel could not be probed');
    return 'failed';
  }
}
