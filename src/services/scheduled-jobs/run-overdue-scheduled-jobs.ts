import { listOverdueScheduledJobs } from '../../db/scheduled-jobs/scheduled-job-runs.ts';
import type { ScheduledJobName } from '../../domain/tasks/scheduled-job.ts';
import { scheduledJobIntervals, type ScheduledJobDeps } from './scheduled-job-table.ts';
import { runScheduledJob } from './run-scheduled-job.ts';

/**
 * Runs the jobs that no Schedule has run for three intervals, because Temporal is unavailable or has lost its Schedules. Returns
 * their names. For a job that has never run, `upSeconds` counts: the time since this process started.
 */
export async function runOverdueScheduledJobs(deps: ScheduledJobDeps, upSeconds: number): Promise<ScheduledJobName[]> {
  const overdue = await listOverdueScheduledJobs(deps.db, {
    intervals: scheduledJobIntervals(deps.config.scheduledJobs),
    upSeconds,
  });
  const results = await Promise.all(overdue.map((name) => runScheduledJob(deps, { name, trigger: 'loop' })));
  const ran = overdue.filter((_, index) => results[index]?.ran === true);
  if (ran.length > 0) deps.logger.warn({ jobs: ran }, 'ran overdue scheduled jobs that no Schedule had run');
  return ran;
}
