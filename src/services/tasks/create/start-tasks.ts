import {
  claimSilentTasks,
  claimUnstartedTasks,
  findUnbegun,
  markStarted,
  shortenClaims,
  type TaskStart,
} from '../../../db/tasks/tasks.ts';
import type { Deps } from '../../../deps.ts';
import { inLanes } from '../../../platform/in-lanes.ts';
import { alarmOf } from '../../../domain/operators/alarm.ts';
import { startOrResume } from './start-or-resume.ts';

type StartDeps = Pick<Deps, 'config' | 'db' | 'ledger' | 'workflows' | 'logger' | 'tracer'>;

/** Tasks of one call. */
const STARTER_BATCH_MAX = 64;
/** Workflows that are started at the same time. Temporal accepts more, but other workers start tasks too. */
export const STARTER_CONCURRENCY = 8;
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

/** Starts the workflows of at most `max` admitted tasks that have none yet, taking the projects in turn. */
export async function startUnstartedTasks(
  deps: StartDeps,
  max = STARTER_BATCH_MAX,
): Promise<Started & { startedIds: string[] }> {
  const tasks = await claimUnstartedTasks(deps.db, max, claimSeconds);
  const { started, failed, isAway } = await startAll(deps, tasks, 'start');
  if (started.length > 0) await markStarted(deps.db, started);
  const reached = new Set([...started, ...failed]);
  const unreached = tasks.map(({ taskId }) => taskId).filter((taskId) => !reached.has(taskId));
  if (unreached.length > 0) await shortenClaims(deps.db, unreached, unreachedSeconds);
  return { claimed: tasks.length, started: started.length, isAway, startedIds: started };
}

/** Tasks that one worker has started and for which no provider was called yet, before it starts further ones. */
const UNBEGUN_MAX = 32;
/** A started task for which no provider was called after this long waits for something else than a worker, such as a channel that cools down. */
const UNBEGUN_SECONDS = 5;

/**
 * Starts waiting tasks, round by round, no faster than workers begin them. The rest waits in PostgreSQL and not in Temporal's queue, where
 * every new task would stand behind them: after an outage of minutes new tasks end as fast as before while the others follow.
 */
export function createTaskStarter(deps: StartDeps): { round(): Promise<Started & { hasMore: boolean }> } {
  let unbegun: Unbegun[] = [];
  return {
    async round() {
      unbegun = await stillUnbegun(deps, unbegun);
      const max = UNBEGUN_MAX - unbegun.length;
      if (max === 0) return { claimed: 0, started: 0, isAway: false, hasMore: true };
      const { startedIds, ...outcome } = await startUnstartedTasks(deps, max);
      const until = performance.now() + UNBEGUN_SECONDS * 1_000;
      unbegun.push(...startedIds.map((taskId) => ({ taskId, until })));
      return { ...outcome, hasMore: outcome.claimed === max };
    },
  };
}

/** A started task, and the time of `performance.now()` until which it counts. */
interface Unbegun {
  taskId: string;
  until: number;
}

async function stillUnbegun({ db }: StartDeps, tasks: readonly Unbegun[]): Promise<Unbegun[]> {
  const now = performance.now();
  const counted = tasks.filter(({ until }) => until > now);
  if (counted.length === 0) return [];
  const ids = counted.map(({ taskId }) => taskId);
  const unbegun = new Set(await findUnbegun(db, ids));
  return counted.filter(({ taskId }) => unbegun.has(taskId));
}

/**
 * Starts or resumes every task on which no process seems to work: the API server died before the verdict, the workflow was
 * terminated, or Temporal lost it. A workflow that runs is told to go on.
 */
export async function resumeSilentTasks(deps: StartDeps): Promise<Started> {
  const { config } = deps;
  const tasks = await claimSilentTasks(deps.db, {
    openSeconds: config.sweeps.undecidedSeconds,
    silentSeconds: config.sweeps.silentSeconds,
    limit: 1_000,
  });
  // A running workflow may wait to collect a parked job of which the database lost the row, as after a failover: it makes its attempt again.
  const { started, isAway } = await startAll(deps, tasks, 'collect');
  if (tasks.length > 0)
    deps.logger.warn({ claimed: tasks.length, started: started.length }, 'restarted the workflows of silent tasks');
  return { claimed: tasks.length, started: started.length, isAway };
}

/** Never rejects: a task that cannot be started does not prevent the start of others. */
async function startAll(
  deps: StartDeps,
  tasks: TaskStart[],
  begin: 'start' | 'collect',
): Promise<{ started: string[]; failed: string[]; isAway: boolean }> {
  const { logger, tracer } = deps;
  const started: string[] = [];
  const failed: string[] = [];
  let unreachable = 0;
  await inLanes(tasks, STARTER_CONCURRENCY, async (task): Promise<void | 'end_lane'> => {
    try {
      const start = () => startOrResume(deps, task, begin);
      if ((await tracer.resume(task.traceParent, 'start the workflow', start)) === 'unreachable') {
        unreachable += 1;
        // The other lanes continue, because the failure may concern this task only.
        return 'end_lane';
      }
      started.push(task.taskId);
    } catch (error) {
      failed.push(task.taskId);
      logger.error(
        { err: error, task_id: task.taskId, ...alarmOf('task_not_started') },
        'the workflow of a task could not be started',
      );
    }
  });
  return { started, failed, isAway: unreachable > 0 && started.length === 0 };
}
