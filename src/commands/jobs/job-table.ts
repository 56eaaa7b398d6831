import type { Config } from '../../config/load-config.ts';
import type { Deps } from '../../deps.ts';
import { jobNames, type JobName, type JobSummary } from '../../domain/job.ts';
import { decideAbandonedCancels } from '../tasks/decide-abandoned-cancels.ts';
import { endStaleTasks } from '../tasks/end-stale-tasks.ts';
import { runMaintenance } from './maintenance.ts';
import { probeChannels } from '../channels/probe-channels.ts';
import { processCallbacks } from '../callbacks/process-callbacks.ts';
import { resumeSilentTasks, startUnstartedTasks } from '../tasks/start-tasks.ts';

/** All that any job's command uses. */
export type JobDeps = Pick<
  Deps,
  'config' | 'db' | 'ledger' | 'logger' | 'workflows' | 'channels' | 'adapters' | 'sealer' | 'egress' | 'urls' | 'files'
>;

interface Job {
  everySeconds(config: Config): number;
  /** One run; what it did, in counts. Safe to run at any time, any number at once, and again after it was cut short. */
  run(deps: JobDeps): Promise<JobSummary>;
}

/** Every job: how often, and what it does. */
export const jobs: Record<JobName, Job> = {
  'process-pending-callbacks': {
    everySeconds: (config) => config.jobs.callbacksSeconds,
    async run(deps) {
      const callbacks = await processCallbacks(deps);
      const resumed = await resumeSilentTasks(deps);
      // Where Temporal could not be reached a moment ago, each further call would only wait in vain.
      const unstarted = resumed.isAway ? 0 : (await startUnstartedTasks(deps)).started;
      const cancels = await decideAbandonedCancels(deps);
      return { ...callbacks, resumed: resumed.started, started: unstarted, cancels };
    },
  },
  'check-stale-media-tasks': {
    everySeconds: (config) => config.jobs.staleTasksSeconds,
    run: (deps) => endStaleTasks(deps),
  },
  'check-api-channels': {
    everySeconds: (config) => config.jobs.channelsSeconds,
    run: (deps) => probeChannels(deps),
  },
  'scheduled-maintenance': {
    everySeconds: (config) => config.jobs.maintenanceSeconds,
    async run(deps) {
      const done = await runMaintenance(deps);
      return { ...done, months: done.months.map((month) => ({ ...month })) };
    },
  },
};

/** Each job with its interval, as its Schedule and the workers' own loop need it. */
export const jobIntervals = (config: Config): { name: JobName; everySeconds: number }[] =>
  jobNames.map((name) => ({ name, everySeconds: jobs[name].everySeconds(config) }));
