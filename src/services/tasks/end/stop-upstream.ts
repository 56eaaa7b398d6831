import { listStops, type StoppableProviderJob } from '../../../db/tasks/stops.ts';
import type { Deps } from '../../../deps.ts';
import { stopProviderJob } from './stop-provider-job.ts';

/**
 * Tells the upstream, once, to stop the jobs of a task that ended without success. Best effort: the task is already refunded,
 * whatever the upstream answers. Does nothing for any other task.
 */
export async function stopUpstream(deps: StopDeps, taskId: string): Promise<void> {
  for (const providerJob of await listStops(deps.db, [taskId])) await stopOneProviderJob(deps, taskId, providerJob);
}

/** Stops one job of an ended task, once. */
export async function stopOneProviderJob(
  deps: StopDeps,
  taskId: string,
  providerJob: StoppableProviderJob,
): Promise<void> {
  const answer = await stopProviderJob(deps, providerJob, { running: 'stop', againAfterSeconds: null });
  if (answer === 'unable' || answer === 'claimed') return;
  deps.logger.info(
    { task_id: taskId, attempt_id: providerJob.attemptId, answer },
    'asked the upstream to stop a provider job',
  );
}

type StopDeps = Pick<Deps, 'db' | 'channels' | 'adapters' | 'sealer' | 'logger'>;
