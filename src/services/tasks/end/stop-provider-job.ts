import type { StopAnswer } from '../../../adapters/channel.ts';
import { claimStop, releaseStop, type StoppableProviderJob } from '../../../db/tasks/stops.ts';
import type { Deps } from '../../../deps.ts';
import { channelOfAttempt } from '../../channels/credential-of-attempt.ts';
import { usableCredential } from '../../channels/unseal-credential.ts';

/** How long one stop may take, with the polls before and after it. */
export const stopSecondsMax = 10;

/**
 * Asks the upstream to stop one job. Of all processes only one sends the stop; the others get `claimed`. `unable` means that
 * this process cannot call the channel. It finds that out before it claims the stop, so that another process can send it.
 */
export async function stopProviderJob(
  deps: Pick<Deps, 'db' | 'channels' | 'adapters' | 'sealer' | 'logger'>,
  { attemptId, channelId, operation: providerRef }: StoppableProviderJob,
  { running, againAfterSeconds }: { running: 'spare' | 'stop'; againAfterSeconds: number | null },
): Promise<StopAnswer | 'unable' | 'claimed'> {
  const listed = await deps.channels.find(channelId);
  const channel = listed && (await channelOfAttempt(deps, listed, attemptId));
  const adapter = channel && deps.adapters[channel.adapter];
  const credential = channel && adapter?.cancelMedia ? usableCredential(deps, channel) : null;
  if (!channel || !adapter?.cancelMedia || credential === null) return 'unable';
  if (!(await claimStop(deps.db, attemptId, againAfterSeconds))) return 'claimed';
  const upstream = { channelId, baseUrl: channel.baseUrl, credential };
  const answer = await adapter
    .cancelMedia(upstream, providerRef, { signal: AbortSignal.timeout(stopSecondsMax * 1_000), running })
    .catch(() => 'unclear' as const);
  // A running job that was spared must still be stopped if its task ends later.
  if (running === 'spare' && answer === 'not_stopped') await releaseStop(deps.db, attemptId);
  return answer;
}
