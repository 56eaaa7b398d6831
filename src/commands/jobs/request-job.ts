import { beginJob, findJobRun, type JobRun } from '../../db/jobs.ts';
import type { JobName } from '../../domain/job.ts';
import { newId } from '../../platform/crypto/ids.ts';
import { pause } from '../../platform/pause.ts';
import type { JobDeps } from './job-table.ts';
import { runJob } from './run-job.ts';

export type JobAnswer =
  | { kind: 'ended'; run: JobRun }
  /** It goes on; its row tells how it ends. */
  | { kind: 'under_way'; runId: string }
  | { kind: 'already_running' };

const triggerMs = 2_000;
const waitMs = 5_000;
const readEveryMs = 100;
/** Until an announced run that nobody began counts as lost. */
const requestLeaseSeconds = 60;

/**
 * Runs a job for somebody who asks from outside: by its Schedule, or right here when Temporal does not answer within 2 s or
 * nobody has begun within 5 s. Answers when it has ended, or after those 5 s while it goes on.
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
      deps.logger.error({ err: error, job: name, run_id: runId }, 'a job could not be run here'),
    );
  if (!(await deps.workflows.triggerJob(name, triggerMs))) runHere();

  let run: JobRun | null = null;
  for (const until = performance.now() + waitMs; performance.now() < until; await pause(readEveryMs)) {
    run = await findJobRun(deps.db, runId);
    if (run && run.endedAt !== null) return { kind: 'ended', run };
  }
  // A Schedule that is still busy skips what it is asked for, and without workers nobody would begin.
  if (run?.state === 'requested') runHere();
  return { kind: 'under_way', runId };
}
