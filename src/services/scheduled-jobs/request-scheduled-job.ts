import { toColumns } from '../../db/column-names.ts';
import {
  beginScheduledJob,
  findScheduledJobRun,
  listScheduledJobRuns,
  type ScheduledJobRun,
} from '../../db/scheduled-jobs/scheduled-job-runs.ts';
import type { JsonObject } from '../../domain/json.ts';
import type { ScheduledJobName } from '../../domain/tasks/scheduled-job.ts';
import { newId } from '../../platform/crypto/ids.ts';
import { pause } from '../../platform/pause.ts';
import type { ScheduledJobDeps } from './scheduled-job-table.ts';
import { runScheduledJob } from './run-scheduled-job.ts';

export type ScheduledJobAnswer =
  | { kind: 'ended'; run: ScheduledJobRun }
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
export async function requestScheduledJob(deps: ScheduledJobDeps, name: ScheduledJobName): Promise<ScheduledJobAnswer> {
  const { verdict, runId } = await beginScheduledJob(deps.db, {
    name,
    runId: newId('run'),
    trigger: 'endpoint',
    leaseSeconds: requestLeaseSeconds,
    request: true,
  });
  if (verdict === 'already_running') return { kind: 'already_running' };
  const runHere = () =>
    void runScheduledJob(deps, { name, trigger: 'endpoint' }).catch((error: unknown) =>
      deps.logger.error(
        { err: error, job: name, run_id: runId },
        'a requested scheduled job could not be run in the API server',
      ),
    );
  if (!(await deps.workflows.triggerScheduledJob(name, triggerMs))) runHere();

  let run: ScheduledJobRun | null = null;
  for (const until = performance.now() + waitMs; performance.now() < until; await pause(readEveryMs)) {
    run = await findScheduledJobRun(deps.db, runId);
    if (run && run.endedAt !== null) return { kind: 'ended', run };
  }
  // A Schedule whose last run continues skips this one, and without workers no process would begin it.
  if (run?.state === 'requested') runHere();
  return { kind: 'under_way', runId };
}

/** The latest `limit` runs of a job as the job routes return them, newest first. */
export const listRuns = async (
  { db }: Pick<ScheduledJobDeps, 'db'>,
  name: ScheduledJobName,
  limit: number,
): Promise<JsonObject[]> => (await listScheduledJobRuns(db, name, limit)).map(presentRun);

/** A run as the job routes return it. Times are unix seconds. */
export const presentRun = (run: ScheduledJobRun): JsonObject => toColumns(run);
