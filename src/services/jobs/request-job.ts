import { beginJob, findJobRun, type JobRun } from '../../db/jobs/jobs.ts';
import type { JobName } from '../../domain/tasks/job.ts';
import { newId } from '../../platform/crypto/ids.ts';
import { pause } from '../../platform/pause.ts';
import type { JobDeps } from './job-table.ts';
import { runJob } from './run-job.ts';

export type JobAnswer =
  | { kind: 'ended'; run: JobRun }
  /** The run continues, and its row will show how it ended. */
  | { kind: 'under_way'; runId: string }
  | { kind: 'already_running' };

const triggerMs = 2_000;
const waitMs = 5_000;
const readEveryMs = 100;
/** After this time a requested run that has not begun counts as lost. */
const requestLeaseSeconds = 60;

/**
 * Runs a job that an external scheduler requests. It triggers the job's Schedule, or runs the job in this process if Temporal does
 * not answer within 2 s or no worker has begun the run within 5 s. Returns when the run has ended, or after 5 s while it continues.
 */
export async function requestJob(deps: JobDeps, name: JobName): Promise<JobAnswer> {
  const { verdict, runId } = await beginJob(deps.db, {
    name,
    runId: newId('run'),
    trigger: 'endpoint',
    leaseSeconds: requestLeaseSeconds,
    request: true,
  });
  if (verdict === 'already_running') return { kind: 'already_running' };
  const runHere = () =>
    void runJob(deps, { name, trigger: 'endpoint' }).catch((error: unknown) =>
      deps.logger.error({ err: error, job: name, run_id: runId }, 'a requested job could not be run in the API server'),
    );
  if (!(await deps.workflows.triggerJob(name, triggerMs))) runHere();

  let run: JobRun | null = null;
  for (const until = performance.now() + waitMs; performance.now() < until; await pause(readEveryMs)) {
    run = await findJobRun(deps.db, runId);
    if (run && run.endedAt !== null) return { kind: 'ended', run };
  }
  // A Schedule whose last run continues skips this one, and without workers no process would begin it.
  if (run?.state === 'requested') runHere();
  return { kind: 'under_way', runId };
}
