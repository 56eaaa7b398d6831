import { listStops, type AcceptedJob } from '../../../db/tasks/stops.ts';
import type { Deps } from '../../../deps.ts';
import { stopJob } from './stop-job.ts';

/**
 * Tells the upstream, once, to stop the jobs of a task that ended without success. Best effort: the task is already refunded,
 * whatever the upstream answers. Does nothing for any other task.
 */
export async function stopUpstream(deps: StopDeps, taskId: string): Promise<void> {
  for (const job of await listStops(deps.db, [taskId])) await stopOneJob(deps, taskId, job);
}

/** Stops one job of an ended task, once. */
export async function stopOneJob(deps: StopDeps, taskId: string, job: AcceptedJob): Promise<void> {
  const answer = await stopJob(deps, job, { running: 'stop', againAfterSeconds: null });
  if (answer === 'unable' || answer === 'claimed') return;
  deps.logger.info({ task_id: taskId, attempt_id: job.attemptId, answer }, 'asked the upstream to stop a job');
}

type StopDeps = Pick<Deps, 'db' | 'channels' | 'adapters' | 'sealer' | 'logger'>;
