import type { StopAnswer } from '../../channels/channel.ts';
import { claimStop, releaseStop, type AcceptedJob } from '../../db/stops.ts';
import type { Deps } from '../../deps.ts';
import { usableCredential } from '../channels/unseal-credential.ts';

/** How long one stop may take, with the polls before and after it. */
export const stopSecondsMax = 10;

/**
 * Asks the upstream to stop one job, once, whoever asks. Also `unable`: this process cannot ask, and leaves it to one that
 * can, which is why the channel is opened before the stop is claimed; and `claimed`: another is asking, or has asked.
 */
export async function stopJob(
  deps: Pick<Deps, 'db' | 'channels' | 'adapters' | 'sealer' | 'logger'>,
  { attemptId, channelId, operation }: AcceptedJob,
  { running, againAfterSeconds }: { running: 'spare' | 'stop'; againAfterSeconds: number | null },
): Promise<StopAnswer | 'unable' | 'claimed'> {
  const channel = await deps.channels.find(channelId);
  const adapter = channel && deps.adapters[channel.adapter];
  const credential = channel && adapter?.cancelMedia ? usableCredential(deps, channel) : null;
  if (!channel || !adapter?.cancelMedia || credential === null) return 'unable';
  if (!(await claimStop(deps.db, attemptId, againAfterSeconds))) return 'claimed';
  const upstream = { channelId, baseUrl: channel.baseUrl, credential };
  const answer = await adapter
    .cancelMedia(upstream, operation, { signal: AbortSignal.timeout(stopSecondsMax * 1_000), running })
    .catch(() => 'unclear' as const);
  // A job that was only spared is still to be stopped by an end of its task that comes later.
  if (running === 'spare' && answer === 'not_stopped') await releaseStop(deps.db, attemptId);
  return answer;
}
