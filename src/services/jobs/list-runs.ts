import { toColumns } from '../../db/database.ts';
import { listJobRuns, type JobRun } from '../../db/jobs/jobs.ts';
import type { Deps } from '../../deps.ts';
import type { JobName } from '../../domain/tasks/job.ts';
import type { JsonObject } from '../../domain/json.ts';

/** The latest `limit` runs of a job, newest first. */
export const listRuns = ({ db }: Pick<Deps, 'db'>, name: JobName, limit: number): Promise<JobRun[]> =>
  listJobRuns(db, name, limit);

/** A run as the job routes return it. Times are unix seconds. */
export const presentRun = (run: JobRun): JsonObject => toColumns(run);
