import { listStops } from '../../db/stops.ts';
import type { Deps } from '../../deps.ts';
import { stopOneJob } from './stop-upstream.ts';

/** Cancels the workflows and stops the upstream jobs of tasks that a sweep has ended, in the background. */
export interface EndFollowUp {
  add(taskIds: readonly string[]): void;
  /** Works for up to `patienceMs` more, leaves out what still waits, and resolves when the running calls have ended. */
  close(patienceMs: number): Promise<void>;
}

const cancelTimeoutMs = 2_000;
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
  const workflows = createLanes(workflowLanes);
  const channels = new Map<string, Lanes>();
  const lookUps = new Set<Promise<void>>();
  const warn = (taskId: string, message: string) => (error: unknown) =>
    deps.logger.warn({ err: error, task_id: taskId }, message);

  const stopJobs = async (taskIds: readonly string[]): Promise<void> => {
    for (const { taskId, ...job } of await listStops(deps.db, taskIds)) {
      const lanes = channels.get(job.channelId) ?? createLanes(lanesPerChannel);
      channels.set(job.channelId, lanes);
      lanes.add(() =>
        stopOneJob(deps, taskId, job).catch(warn(taskId, 'the upstream job of a stale task could not be stopped')),
      );
    }
  };
  const all = () => [workflows, ...channels.values()];

  return {
    add(taskIds) {
      if (taskIds.length === 0) return;
      const lookUp = stopJobs(taskIds)
        .catch(warn(taskIds[0] ?? '', 'the upstream jobs of stale tasks could not be listed'))
        .finally(() => lookUps.delete(lookUp));
      lookUps.add(lookUp);
      for (const taskId of taskIds) {
        workflows.add(async () => {
          const canceled = deps.workflows.cancel(taskId, cancelTimeoutMs);
          await canceled.catch(warn(taskId, 'the workflow of a stale task could not be canceled'));
        });
      }
    },
    async close(patienceMs) {
      await Promise.all(lookUps);
      const timer = setTimeout(() => all().forEach((lanes) => lanes.leaveWaiting()), patienceMs);
      await Promise.all(all().map((lanes) => lanes.idle()));
      clearTimeout(timer);
    },
  };
}

interface Lanes {
  /** `work` must not reject. */
  add(work: () => Promise<void>): void;
  leaveWaiting(): void;
  /** Resolves when nothing waits or runs. */
  idle(): Promise<void>;
}

function createLanes(lanes: number): Lanes {
  const waiting: (() => Promise<void>)[] = [];
  const running = new Set<Promise<void>>();
  const lane = async (): Promise<void> => {
    for (let work = waiting.shift(); work; work = waiting.shift()) await work();
  };
  return {
    add(work) {
      if (waiting.length >= waitingMax) return;
      waiting.push(work);
      if (running.size >= lanes) return;
      const one = lane().finally(() => running.delete(one));
      running.add(one);
    },
    leaveWaiting: () => void (waiting.length = 0),
    async idle() {
      while (running.size > 0) await Promise.all(running);
    },
  };
}
