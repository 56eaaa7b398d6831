import { claimStops } from '../db/attempts.ts';
import type { Deps } from '../deps.ts';
import { usableCredential } from './open-credential.ts';

const stopTimeoutMs = 10_000;

/**
 * Tells the upstream, once, to stop the jobs of a task that ended without success. Best effort: the task has ended and its
 * credits are back whatever the upstream says.
 */
export async function stopUpstream(
  deps: Pick<Deps, 'db' | 'channels' | 'adapters' | 'sealer' | 'logger'>,
  taskId: string,
): Promise<void> {
  for (const { attemptId, channelId, operation } of await claimStops(deps.db, taskId)) {
    const channel = await deps.channels.find(channelId);
    const adapter = channel && deps.adapters[channel.adapter];
    if (!channel || !adapter?.cancelMedia) continue;
    const credential = usableCredential(deps, channel);
    if (credential === null) continue;
    const upstream = { channelId, baseUrl: channel.baseUrl, credential };
    const answer = await adapter
      .cancelMedia(upstream, operation, { signal: AbortSignal.timeout(stopTimeoutMs), running: 'stop' })
      .catch(() => 'not_stopped' as const);
    deps.logger.info({ task_id: taskId, attempt_id: attemptId, answer }, 'upstream job told to stop');
  }
}
