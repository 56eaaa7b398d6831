import { toColumns } from '../../db/column-names.ts';
import { listScheduledJobRuns, type ScheduledJobRun } from '../../db/scheduled-jobs/scheduled-job-runs.ts';
import type { Deps } from '../../deps.ts';
import type { ScheduledJobName } from '../../domain/tasks/scheduled-job.ts';
import type { JsonObject } from '../../domain/json.ts';

/** The latest `limit` runs of a job, newest first. */
export const listRuns = ({ db }: Pick<Deps, 'db'>, name: ScheduledJobName, limit: number): Promise<ScheduledJobRun[]> =>
  listScheduledJobRuns(db, name, limit);

/** A run as the job routes return it. Times are unix seconds. */
export const presentRun = (run: ScheduledJobRun): JsonObject => toColumns(run);
