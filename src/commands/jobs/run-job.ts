import { beginJob, endJob, extendJobLease } from '../../db/jobs.ts';
import type { JobName, JobSummary, JobTrigger } from '../../domain/job.ts';
import { newId } from '../../platform/crypto/ids.ts';
import { MaintenanceError } from './maintenance.ts';
import { jobs, type JobDeps } from './job-table.ts';

/** What became of it; `ran: false` while another run of the same job is under way, whose id is told. */
export type JobResult =
  { ran: true; runId: string; state: 'succeeded' | 'failed'; summary: JobSummary } | { ran: false; runId: string };

/**
 * Runs a job's command under the job's lock: a leased row, so that no connection is held meanwhile and the lock of
 * somebody who died is free after `JOB_LEASE_SECONDS`. A command that fails ends its run as `failed`; what is thrown is
 * trouble with the database. The lock only saves work: every command is safe to run beside itself.
 */
export async function runJob(
  deps: JobDeps,
  { name, trigger }: { name: JobName; trigger: JobTrigger },
): Promise<JobResult> {
  const { config, db, logger } = deps;
  const leaseSeconds = config.jobs.leaseSeconds;
  const { verdict, runId } = await beginJob(db, { name, runId: newId('run'), trigger, leaseSeconds, request: false });
  if (verdict !== 'running') return { ran: false, runId };

  const began = performance.now();
  const keep = setInterval(
    () => {
      // A command that hangs must not hold the lock for ever.
      if (performance.now() - began > runMsMax) clearInterval(keep);
      else void extendJobLease(db, runId, leaseSeconds).catch(() => undefined);
    },
    (leaseSeconds * 1_000) / 3,
  );
  try {
    const { state, did } = await jobs[name].run(deps).then(
      (counts) => ({ state: 'succeeded' as const, did: counts }),
      (error: unknown) => {
        logger.error({ err: error, job: name, run_id: runId, alarm: true }, 'a job failed');
        // What was said may carry more than an operator's list should show: the log has it.
        return {
          state: 'failed' as const,
          did: { error: error instanceof Error ? error.name : 'Error', ...stepsOf(error) },
        };
      },
    );
    const summary = { ...did, ms: Math.round(performance.now() - began) };
    if (!(await endJob(db, { runId, state, summary }))) {
      logger.warn({ job: name, run_id: runId }, 'a run had been counted as lost before it ended');
    }
    return { ran: true, runId, state, summary };
  } finally {
    clearInterval(keep);
  }
}

/** Which steps of the maintenance failed: names of ours. */
const stepsOf = (error: unknown): JobSummary =>
  error instanceof MaintenanceError ? { failed_steps: error.summary.failed_steps } : {};

const runMsMax = 3_600_000;
