import {
  beginScheduledJob,
  endScheduledJob,
  extendScheduledJobLease,
} from '../../db/scheduled-jobs/scheduled-job-runs.ts';
import type { ScheduledJobName, ScheduledJobSummary, ScheduledJobTrigger } from '../../domain/tasks/scheduled-job.ts';
import { newId } from '../../platform/crypto/ids.ts';
import { MaintenanceError } from './maintenance.ts';
import { scheduledJobTable, type ScheduledJobDeps } from './scheduled-job-table.ts';
import { alarmOf } from '../../domain/operators/alarm.ts';

/** With `ran: false`, `runId` is another run of the same job, which holds the lock. */
export type ScheduledJobResult =
  | { ran: true; runId: string; state: 'succeeded' | 'failed'; summary: ScheduledJobSummary }
  | { ran: false; runId: string };

/**
 * Runs a job's command under the job's lock. The lock is a leased row, so that it needs no open connection and is free
 * 30 s after its holder dies. It only saves work, because every command is safe to run concurrently. A command
 * that fails ends its run as `failed`; only database errors are thrown. With an `actor`, the operator who begins the run is recorded.
 */
export async function runScheduledJob(
  deps: ScheduledJobDeps,
  { name, trigger, actor }: { name: ScheduledJobName; trigger: ScheduledJobTrigger; actor?: string },
): Promise<ScheduledJobResult> {
  const { config, db, logger } = deps;
  const leaseSeconds = config.scheduledJobs.leaseSeconds;
  const run = { name, runId: newId('run'), trigger, leaseSeconds, request: false, actor };
  const { verdict, runId } = await beginScheduledJob(db, run);
  if (verdict !== 'running') return { ran: false, runId };

  const began = performance.now();
  const keep = setInterval(
    () => {
      // A command that hangs must not hold the lock forever.
      if (performance.now() - began > runMsMax) clearInterval(keep);
      else void extendScheduledJobLease(db, runId, leaseSeconds).catch(() => undefined);
    },
    (leaseSeconds * 1_000) / 3,
  );
  try {
    const { state, did } = await scheduledJobTable[name].run(deps).then(
      (counts) => ({ state: 'succeeded' as const, did: counts }),
      (error: unknown) => {
        logger.error({ err: error, job: name, run_id: runId, ...alarmOf('job_failed') }, 'a scheduled job failed');
        // The log has the full error, whose message may contain data that the list of runs must not show.
        return {
          state: 'failed' as const,
          did: {
            error: error instanceof Error ? error.name : 'Error',
            ...(error instanceof MaintenanceError && { failed_steps: error.summary.failed_steps }),
          },
        };
      },
    );
    const summary = { ...did, ms: Math.round(performance.now() - began) };
    if (!(await endScheduledJob(db, { runId, state, summary }))) {
      logger.warn({ job: name, run_id: runId }, 'a scheduled job ended after its run had been counted as lost');
    }
    return { ran: true, runId, state, summary };
  } finally {
    clearInterval(keep);
  }
}

const runMsMax = 3_600_000;
