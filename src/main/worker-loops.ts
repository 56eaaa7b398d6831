import { decideAbandonedCancels } from '../commands/tasks/decide-abandoned-cancels.ts';
import { endStaleTasks } from '../commands/tasks/end-stale-tasks.ts';
import { jobIntervals } from '../commands/jobs/job-table.ts';
import { runOverdueJobs } from '../commands/jobs/run-overdue-jobs.ts';
import { processCallbacks } from '../commands/callbacks/process-callbacks.ts';
import { resumeSilentTasks, STARTER_BATCH_MAX, startUnstartedTasks } from '../commands/tasks/start-tasks.ts';
import type { Deps } from '../deps.ts';
import { pause } from '../platform/pause.ts';
import { ensureTemporal } from './ensure-temporal.ts';

export interface Loops {
  /** Stops the loops after their current turn. */
  stop(): Promise<void>;
}

/**
 * The loops of every worker: they start waiting tasks, resume silent ones, decide abandoned cancels and end stale tasks. They run the
 * commands of the jobs more often and without their lock or record, so that tasks end even without Temporal and a scheduler. The last
 * loop runs overdue jobs.
 */
export function startLoops(deps: Deps): Loops {
  const { config } = deps;
  const stopping = new AbortController();
  const startedAt = performance.now();
  const jobsMs =
    1000 *
    Math.min(config.sweeps.intervalSeconds, ...jobIntervals(config.jobs).map(({ everySeconds }) => everySeconds));
  const sweepMs = config.sweeps.intervalSeconds * 1000;
  const loops = [
    loop(deps, stopping.signal, 'starter', async () => {
      const { claimed, started } = await startUnstartedTasks(deps);
      // A full batch means that more tasks wait. After a failed one Temporal needs a moment.
      if (claimed > started) return 1_000;
      return claimed === STARTER_BATCH_MAX ? 0 : config.starter.intervalMs;
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

/** Repeats a turn until stopped. A turn returns the pause after it. An error is logged. */
async function loop({ logger }: Deps, signal: AbortSignal, name: string, turn: () => Promise<number>): Promise<void> {
  while (!signal.aborted) {
    const restMs = await turn().catch((error: unknown) => {
      logger.warn({ err: error, loop: name }, 'a turn failed');
      return afterErrorMs;
    });
    await pause(restMs, signal);
  }
}
