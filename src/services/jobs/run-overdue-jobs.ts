import { listOverdueJobs } from '../../db/jobs/jobs.ts';
import type { JobName } from '../../domain/tasks/job.ts';
import { jobIntervals, type JobDeps } from './job-table.ts';
import { runJob } from './run-job.ts';

/**
 * Runs the jobs that no Schedule has run for three intervals, because Temporal is unavailable or has lost its Schedules. Returns
 * their names. For a job that has never run, `upSeconds` counts: the time since this process started.
 */
export async function runOverdueJobs(deps: JobDeps, upSeconds: number): Promise<JobName[]> {
  const overdue = await listOverdueJobs(deps.db, { intervals: jobIntervals(deps.config.jobs), upSeconds });
  const results = await Promise.all(overdue.map((name) => runJob(deps, { name, trigger: 'loop' })));
  const ran = overdue.filter((_, index) => results[index]?.ran === true);
  if (ran.length > 0) deps.logger.warn({ jobs: ran }, 'ran overdue jobs that no Schedule had run');
  return ran;
}
