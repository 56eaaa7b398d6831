import { claimSilentTasks, claimUnstartedTasks, markStarted, shortenClaims, type TaskStart } from '../../db/tasks.ts';
import type { Deps } from '../../deps.ts';
import { inLanes } from '../../platform/in-lanes.ts';

type StartDeps = Pick<Deps, 'config' | 'db' | 'workflows' | 'logger' | 'tracer'>;

/** Tasks of one round of the starter. */
export const STARTER_BATCH_MAX = 64;
/** Workflows that are started at the same time. Temporal accepts more, but other workers start tasks too. */
export const STARTER_CONCURRENCY = 8;
const startTimeoutMs = 5_000;
/** A claimed task whose worker died is offered again after this long. */
const claimSeconds = 15;
/**
 * A claimed task whose start did not reach Temporal is offered again after this long. It is more than the pause after a failed round, so that
 * the next round claims other tasks.
 */
const unreachedSeconds = 2;

interface Started {
  claimed: number;
  /** Less than `claimed` if Temporal is unavailable or busy, or if a task cannot be started. */
  started: number;
  /** No task could be started, because Temporal could not be reached. */
  isAway: boolean;
}

/** Starts the workflows of admitted tasks that have none yet, taking the projects in turn. */
export async function startUnstartedTasks(deps: StartDeps): Promise<Started> {
  const tasks = await claimUnstartedTasks(deps.db, STARTER_BATCH_MAX, claimSeconds);
  const { started, failed, isAway } = await startAll(deps, tasks);
  if (started.length > 0) await markStarted(deps.db, started);
  const known = new Set([...started, ...failed]);
  const unreached = tasks.map(({ taskId }) => taskId).filter((taskId) => !known.has(taskId));
  if (unreached.length > 0) await shortenClaims(deps.db, unreached, unreachedSeconds);
  return { claimed: tasks.length, started: started.length, isAway };
}

/**
 * Starts or resumes every task on which no process seems to work: the API server died before the verdict, the workflow was
 * terminated, or Temporal lost it. If the workflow is running, the start has no effect.
 */
export async function resumeSilentTasks(deps: StartDeps): Promise<Started> {
  const { config } = deps;
  const tasks = await claimSilentTasks(deps.db, {
    openSeconds: config.sweeps.undecidedSeconds,
    silentSeconds: config.sweeps.silentSeconds,
    limit: 1_000,
  });
  const { started, isAway } = await startAll(deps, tasks);
  if (tasks.length > 0)
    deps.logger.warn({ claimed: tasks.length, started: started.length }, 'restarted the workflows of silent tasks');
  return { claimed: tasks.length, started: started.length, isAway };
}

/** Never rejects: a task that cannot be started does not prevent the start of others. */
async function startAll(
  { workflows, logger, tracer }: StartDeps,
  tasks: TaskStart[],
): Promise<{ started: string[]; failed: string[]; isAway: boolean }> {
  const started: string[] = [];
  const failed: string[] = [];
  let unreachable = 0;
  await inLanes(tasks, STARTER_CONCURRENCY, async (task): Promise<void | 'end_lane'> => {
    try {
      const start = () => workflows.start(task, startTimeoutMs);
      if ((await tracer.resume(task.traceParent, 'start the workflow', start)) === 'unreachable') {
        unreachable += 1;
        // The other lanes continue, because the failure may concern this task only.
        return 'end_lane';
      }
      started.push(task.taskId);
    } catch (error) {
      failed.push(task.taskId);
      logger.error({ err: error, task_id: task.taskId, alarm: true }, 'the workflow of a task could not be started');
    }
  });
  return { started, failed, isAway: unreachable > 0 && started.length === 0 };
}
