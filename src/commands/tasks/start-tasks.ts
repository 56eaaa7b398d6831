import { claimSilentTasks, claimUnstartedTasks, markStarted, type TaskStart } from '../../db/tasks.ts';
import type { Deps } from '../../deps.ts';

type StartDeps = Pick<Deps, 'config' | 'db' | 'workflows' | 'logger'>;

const startTimeoutMs = 5_000;
/** A claimed task whose start failed is offered again after this long. */
const claimSeconds = 15;

interface Started {
  claimed: number;
  /** Less than `claimed` means that Temporal is away or busy, or that a task cannot be started. */
  started: number;
  /** Nobody of those that were asked about could be started, because Temporal could not be reached. */
  isAway: boolean;
}

/** Starts the workflows of admitted tasks that have none yet, one project after the other. */
export async function startUnstartedTasks(deps: StartDeps): Promise<Started> {
  const tasks = await claimUnstartedTasks(deps.db, deps.config.starter.batchMax, claimSeconds);
  const { started, isAway } = await startAll(deps, tasks);
  if (started.length > 0) await markStarted(deps.db, started);
  return { claimed: tasks.length, started: started.length, isAway };
}

/**
 * Starts or resumes every task that nobody seems to work on: the route died before its verdict, the workflow was terminated,
 * or Temporal lost it. Joining a workflow that runs after all is harmless.
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
    deps.logger.warn({ claimed: tasks.length, started: started.length }, 'silent tasks started again');
  return { claimed: tasks.length, started: started.length, isAway };
}

/** Never rejects: a task that cannot be started keeps no other from it. */
async function startAll(
  { config, workflows, logger }: StartDeps,
  tasks: TaskStart[],
): Promise<{ started: string[]; isAway: boolean }> {
  const started: string[] = [];
  const queue = [...tasks];
  let unreachable = 0;
  const lane = async (): Promise<void> => {
    for (let task = queue.shift(); task; task = queue.shift()) {
      try {
        if ((await workflows.start(task, startTimeoutMs)) === 'unreachable') {
          unreachable += 1;
          // The other lanes find out for themselves: it may be about this one task.
          return;
        }
        started.push(task.taskId);
      } catch (error) {
        logger.error({ err: error, task_id: task.taskId, alarm: true }, "a task's workflow could not be started");
      }
    }
  };
  await Promise.all(Array.from({ length: config.starter.concurrency }, lane));
  return { started, isAway: unreachable > 0 && started.length === 0 };
}
