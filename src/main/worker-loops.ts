import { decideAbandonedCancels } from '../commands/tasks/decide-abandoned-cancels.ts';
import { endStaleTasks } from '../commands/tasks/end-stale-tasks.ts';
import { jobIntervals } from '../commands/jobs/job-table.ts';
import { runOverdueJobs } from '../commands/jobs/run-overdue-jobs.ts';
import { processCallbacks } from '../commands/callbacks/process-callbacks.ts';
import { resumeSilentTasks, startUnstartedTasks } from '../commands/tasks/start-tasks.ts';
import type { Deps } from '../deps.ts';
import { pause } from '../platform/pause.ts';
import { ensureTemporal } from './ensure-temporal.ts';

export interface Loops {
  /** Lets each loop finish its turn. */
  stop(): Promise<void>;
}

/**
 * What every worker does beside its workflows: start what waits, resume what is silent, decide what was left undecided, end what is stale. These are the
 * commands of the jobs, at a quicker pace and without their lock or record: the net below the Schedules, needing neither
 * Temporal nor a scheduler. The last loop runs the jobs themselves when nobody else has.
 */
export function startLoops(deps: Deps): Loops {
  const { config } = deps;
  const stopping = new AbortController();
  const startedAt = performance.now();
  const jobsMs =
    1000 * Math.min(config.sweeps.intervalSeconds, ...jobIntervals(config).map(({ everySeconds }) => everySeconds));
  const sweepMs = config.sweeps.intervalSeconds * 1000;
  const loops = [
    loop(deps, stopping.signal, 'starter', async () => {
      const { claimed, started } = await startUnstartedTasks(deps);
      // A full batch means that more is waiting; a failed one that Temporal needs a moment.
      if (claimed > started) return 1_000;
      return claimed === config.starter.batchMax ? 0 : config.starter.intervalMs;
    }),
    loop(deps, stopping.signal, 'pending sweep', async () => {
      await resumeSilentTasks(deps);
      return sweepMs;
    }),
    loop(deps, stopping.signal, 'cancel sweep', async () => {
      await decideAbandonedCancels(deps);
      return sweepMs;
    }),
    loop(deps, stopping.signal, 'callback sweep', async () => {
      await processCallbacks(deps);
      return sweepMs;
    }),
    loop(deps, stopping.signal, 'stale sweep', async () => {
      await endStaleTasks(deps);
      return sweepMs;
    }),
    loop(deps, stopping.signal, 'Temporal', async () => {
      const ensureMs = config.temporal.ensureSeconds * 1000;
      await pause(ensureMs, stopping.signal);
      if (!stopping.signal.aborted) await ensureTemporal(deps);
      return 0;
    }),
    loop(deps, stopping.signal, 'jobs', async () => {
      await runOverdueJobs(deps, (performance.now() - startedAt) / 1000);
      return jobsMs;
    }),
  ];
  return {
    async stop() {
      stopping.abort();
      await Promise.all(loops);
    },
  };
}

const afterErrorMs = 2_000;

/** Turn after turn until stopped; a turn says how long to rest, and an error is logged and rested out. */
async function loop({ logger }: Deps, signal: AbortSignal, name: string, turn: () => Promise<number>): Promise<void> {
  while (!signal.aborted) {
    const restMs = await turn().catch((error: unknown) => {
      logger.warn({ err: error, loop: name }, 'a turn failed');
      return afterErrorMs;
    });
    await pause(restMs, signal);
  }
}
