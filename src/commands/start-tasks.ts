import { claimSilentTasks, claimUnstartedTasks, markStarted, type TaskStart } from '../db/tasks.ts';
import type { Deps } from '../deps.ts';

type StartDeps = Pick<Deps, 'config' | 'db' | 'workflows' | 'logger'>;

const startTimeoutMs = 5_000;
/** A claimed task whose start failed is offered again after this long. */
const claimSeconds = 15;

/**
 * Starts the workflows of admitted tasks that have none yet, one project after the other. Returns how many it started;
 * less than it claimed means that Temporal is away or busy.
 */
export async function startUnstartedTasks(deps: StartDeps): Promise<{ claimed: number; started: number }> {
  const tasks = await claimUnstartedTasks(deps.db, deps.config.STARTER_BATCH_MAX, claimSeconds);
  const started = await startAll(deps, tasks);
  if (started.length > 0) await markStarted(deps.db, started);
  return { claimed: tasks.length, started: started.length };
}

/**
 * Starts or resumes every task that nobody seems to work on: the route died before its verdict, the workflow was terminated,
 * or Temporal lost it. Joining a workflow that runs after all is harmless.
 */
export async function resumeSilentTasks(deps: StartDeps): Promise<{ claimed: number; started: number }> {
  const { config } = deps;
  const tasks = await claimSilentTasks(deps.db, {
    openSeconds: config.SWEEP_OPEN_SECONDS,
    silentSeconds: config.SWEEP_SILENT_SECONDS,
    limit: 1_000,
  });
  const started = await startAll(deps, tasks);
  if (tasks.length > 0)
    deps.logger.warn({ claimed: tasks.length, started: started.length }, 'silent tasks started again');
  return { claimed: tasks.length, started: started.length };
}

async function startAll({ config, workflows }: StartDeps, tasks: TaskStart[]): Promise<string[]> {
  const started: string[] = [];
  const queue = [...tasks];
  let reachable = true;
  const lane = async (): Promise<void> => {
    for (let task = queue.shift(); task && reachable; task = queue.shift()) {
      const result = await workflows.start(task, startTimeoutMs);
      if (result === 'unreachable') reachable = false;
      else started.push(task.taskId);
    }
  };
  await Promise.all(Array.from({ length: config.STARTER_CONCURRENCY }, lane));
  return started;
}
