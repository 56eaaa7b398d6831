import { listOverdueJobs } from '../../db/jobs.ts';
import type { JobName } from '../../domain/job.ts';
import { jobIntervals, type JobDeps } from './job-table.ts';
import { runJob } from './run-job.ts';

/**
 * Runs what no Schedule has run for three intervals: Temporal is away, or has lost its Schedules. Answers what it ran.
 * `upSeconds` is how long the caller has been up: a job that has never run is given that long.
 */
export async function runOverdueJobs(deps: JobDeps, upSeconds: number): Promise<JobName[]> {
  const overdue = await listOverdueJobs(deps.db, { intervals: jobIntervals(deps.config), upSeconds });
  const results = await Promise.all(overdue.map((name) => runJob(deps, { name, trigger: 'loop' })));
  const ran = overdue.filter((_, index) => results[index]?.ran === true);
  if (ran.length > 0) deps.logger.warn({ jobs: ran }, 'ran the jobs that no Schedule has run');
  return ran;
}
