import { listJobRuns, type JobRun } from '../../db/jobs.ts';
import type { Deps } from '../../deps.ts';
import type { JobName } from '../../domain/job.ts';
import type { JsonObject } from '../../domain/json.ts';

const runsShown = 50;

/** The latest runs of a job, newest first. */
export const listRuns = ({ db }: Pick<Deps, 'db'>, name: JobName): Promise<JobRun[]> =>
  listJobRuns(db, name, runsShown);

/** A run as the job routes return it. Times are unix seconds. */
export const presentRun = (run: JobRun): JsonObject => ({
  run_id: run.runId,
  name: run.name,
  trigger: run.trigger,
  state: run.state,
  requested_at: run.requestedAt,
  started_at: run.startedAt,
  ended_at: run.endedAt,
  summary: run.summary,
});
