import { listClosures, reopenChannel, type Closure } from '../db/channels.ts';
import type { Deps } from '../deps.ts';
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
      const answer = await probe(deps, next);
      if (answer === 'not_offered') continue;
      count.probed += 1;
      if (answer === 'failed') count.failed += 1;
      else if (await reopenChannel(deps.db, next)) count.reopened += 1;
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  if (count.reopened > 0) deps.channels.forget();
  return count;
}

async function probe(deps: ProbeDeps, { channelId, modelIds }: Closure): Promise<'ok' | 'failed' | 'not_offered'> {
  const channel = await deps.channels.find(channelId);
  const adapter = channel && deps.adapters[channel.adapter];
  if (!channel || !adapter?.probe) return 'not_offered';
  const about = { channel_id: channelId, channel: channel.name, models: modelIds };
  try {
    const credential = openCredential(deps.sealer, channel);
    const upstream = { channelId, baseUrl: channel.baseUrl, credential };
    const answer = await adapter.probe(upstream, { signal: AbortSignal.timeout(probeTimeoutMs) });
    deps.logger.info({ ...about, answer: answer.kind }, 'a closed channel was probed');
    return answer.kind === 'ok' ? 'ok' : 'failed';
  } catch (error) {
    deps.logger.warn({ ...about, err: error }, 'a closed channel could not be probed');
    return 'failed';
  }
}
