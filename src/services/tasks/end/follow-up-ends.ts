import { listStops, type TaskStop } from '../../../db/tasks/stops.ts';
import type { Deps } from '../../../deps.ts';
import { createLaneQueue, type LaneQueue } from '../../../platform/lane-queue.ts';
import { stopOneProviderJob } from './stop-upstream.ts';

/** Cancels the workflows and stops the upstream jobs of tasks that a sweep has ended, in the background. */
export interface EndFollowUp {
  add(taskIds: readonly string[]): void;
  /** Works for up to `patienceMs` more, leaves out what still waits, and resolves when the running calls have ended. */
  close(patienceMs: number): Promise<void>;
}

const workflowLanes = 16;
const lanesPerChannel = 8;
/** Per channel, and for all workflows. */
const waitingMax = 10_000;

/**
 * Each channel has lanes of its own, so that a provider that does not answer delays only its own stops, and no sweep waits for
 * them. All credits are refunded by then, so what is left out does no harm: a workflow that was not canceled ends at its deadline,
 * and the worker that next polls a job with an unclaimed stop stops it.
 */
export function createEndFollowUp(
  deps: Pick<Deps, 'db' | 'logger' | 'workflows' | 'channels' | 'adapters' | 'sealer'>,
): EndFollowUp {
  const channels = new Map<string, LaneQueue<TaskStop>>();
  const listings = new Set<Promise<void>>();
  const warn = (taskId: string, message: string) => (error: unknown) =>
    deps.logger.warn({ err: error, task_id: taskId }, message);

  const stopProviderJob = ({ taskId, ...providerJob }: TaskStop): Promise<void> =>
    stopOneProviderJob(deps, taskId, providerJob).catch(
      warn(taskId, 'the provider job of a stale task could not be stopped'),
    );
  const stopProviderJobs = async (taskIds: readonly string[]): Promise<void> => {
    for (const stop of await listStops(deps.db, taskIds)) {
      const stops =
        channels.get(stop.channelId) ?? createLaneQueue({ lanes: lanesPerChannel, waitingMax }, stopProviderJob);
      channels.set(stop.channelId, stops);
      stops.add(stop);
    }
  };
  const workflows = createLaneQueue({ lanes: workflowLanes, waitingMax }, async (taskId: string) => {
    const canceled = deps.workflows.cancel(taskId);
    await canceled.catch(warn(taskId, 'the workflow of a stale task could not be canceled'));
  });
  const all = () => [workflows, ...channels.values()];

  return {
    add(taskIds) {
      if (taskIds.length === 0) return;
      const listing = stopProviderJobs(taskIds)
        .catch(warn(taskIds[0] ?? '', 'the provider jobs of stale tasks could not be listed'))
        .finally(() => listings.delete(listing));
      listings.add(listing);
      for (const taskId of taskIds) workflows.add(taskId);
    },
    async close(patienceMs) {
      await Promise.all(listings);
      const timer = setTimeout(() => all().forEach((queue) => queue.leaveWaiting()), patienceMs);
      await Promise.all(all().map((queue) => queue.idle()));
      clearTimeout(timer);
    },
  };
}
