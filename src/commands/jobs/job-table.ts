import type { Config } from '../../config/load-config.ts';
import type { Deps } from '../../deps.ts';
import { jobNames, type JobName, type JobSummary } from '../../domain/job.ts';
import { decideAbandonedCancels } from '../tasks/decide-abandoned-cancels.ts';
import { endStaleTasks } from '../tasks/end-stale-tasks.ts';
import { runMaintenance } from './maintenance.ts';
import { probeChannels } from '../channels/probe-channels.ts';
import { processCallbacks } from '../callbacks/process-callbacks.ts';
import { resumeSilentTasks, startUnstartedTasks } from '../tasks/start-tasks.ts';

/** The dependencies of all jobs. */
export type JobDeps = Pick<
  Deps,
  | 'callbackSlots'
  | 'config'
  | 'db'
  | 'ledger'
  | 'logger'
  | 'workflows'
  | 'channels'
  | 'adapters'
  | 'sealer'
  | 'egress'
  | 'urls'
  | 'files'
>;

interface Job {
  everySeconds(intervals: Config['jobs']): number;
  /** Runs the job once and returns counts. Safe to run at any time, concurrently, and again after an interruption. */
  run(deps: JobDeps): Promise<JobSummary>;
}

/** Every job with its interval and its command. */
export const jobs: Record<JobName, Job> = {
  'process-pending-callbacks': {
    everySeconds: (intervals) => intervals.callbacksSeconds,
    async run(deps) {
      const callbacks = await processCallbacks(deps);
      const resumed = await resumeSilentTasks(deps);
      // If Temporal has just been unreachable, more calls would only wait for their timeouts.
      const unstarted = resumed.isAway ? 0 : (await startUnstartedTasks(deps)).started;
      const cancels = await decideAbandonedCancels(deps);
      return { ...callbacks, resumed: resumed.started, started: unstarted, cancels };
    },
  },
  'check-stale-media-tasks': {
    everySeconds: (intervals) => intervals.staleTasksSeconds,
    run: (deps) => endStaleTasks(deps),
  },
  'check-api-channels': {
    everySeconds: (intervals) => intervals.channelsSeconds,
    run: (deps) => probeChannels(deps),
  },
  'scheduled-maintenance': {
    everySeconds: (intervals) => intervals.maintenanceSeconds,
    async run(deps) {
      const done = await runMaintenance(deps);
      return { ...done, months: done.months.map((month) => ({ ...month })) };
    },
  },
};

/** Each job with its interval, for its Schedule and for the loop of the workers. */
export const jobIntervals = (intervals: Config['jobs']): { name: JobName; everySeconds: number }[] =>
  jobNames.map((name) => ({ name, everySeconds: jobs[name].everySeconds(intervals) }));
