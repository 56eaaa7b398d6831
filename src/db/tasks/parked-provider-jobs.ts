import type { JsonObject } from '../../domain/json.ts';
import type { AttemptMemory } from './attempts.ts';
import type { Database } from '../database.ts';
import type { TaskStart } from './tasks.ts';

/** The bounds of the pause between two polls of a parked job, which is a tenth of the job's age. */
export interface PollBounds {
  leastSeconds: number;
  mostSeconds: number;
}

/**
 * Parks an accepted job: its holder polls it no longer, and the poller asks when the next poll is due. False if another run has
 * taken the attempt over or the attempt has ended.
 */
export async function parkProviderJob(
  database: Database,
  held: Pick<AttemptMemory, 'attemptId' | 'fence'>,
  projectId: string,
  { leastSeconds, mostSeconds }: PollBounds,
): Promise<boolean> {
  return database.returnsRow(
    'park-job',
    `update attempt set project_id = $3, next_poll_at = clock_timestamp() + make_interval(secs =>
         least(greatest(extract(epoch from clock_timestamp() - submitted_at) / 10, $4::float8), greatest($5::float8, $4)))
     where id = $1 and fence = $2 and outcome is null and operation is not null returning 1`,
    [held.attemptId, held.fence, projectId, leastSeconds, mostSeconds],
  );
}

/** How long ago the upstream accepted the job, and since when it answers 404, in milliseconds. Null if the fence is outdated. */
export async function readAcceptedProviderJob(
  database: Database,
  held: Pick<AttemptMemory, 'attemptId' | 'fence'>,
): Promise<{ acceptedMs: number; missingMs: number | null } | null> {
  return database.first(
    'read-accepted-job',
    `select extract(epoch from clock_timestamp() - submitted_at)::float8 * 1000 as accepted_ms,
       extract(epoch from clock_timestamp() - missing_since)::float8 * 1000 as missing_ms
     from attempt where id = $1 and fence = $2`,
    [held.attemptId, held.fence],
  );
}

/** Remembers since when the upstream no longer knows the job, or that it knows it again. */
export async function markMissing(database: Database, attemptId: string, isMissing: boolean): Promise<void> {
  await database.query(
    'mark-missing',
    `update attempt set missing_since = case when $2 then coalesce(missing_since, clock_timestamp()) end
     where id = $1 and outcome is null`,
    [attemptId, isMissing],
  );
}

/** One poll of a parked job that this process has claimed. Times are milliseconds. */
export interface ClaimedPoll {
  attemptId: string;
  fence: string;
  channelId: string;
  taskId: string;
  requestId: string;
  operation: JsonObject;
  /** The progress that the task shows. */
  progress: number | null;
  /** How long the provider has answered 404; null if its last answer was another. */
  missingMs: number | null;
  /** False once the task has ended. */
  wanted: boolean;
  /** Until the task's deadline. */
  remainingMs: number;
  /** Until the job is due again. */
  leaseMs: number;
  /** How long the poll was due. */
  lateMs: number;
  /** The trace of the task's create request, if that was traced. */
  traceParent: string | null;
}

/** Claims due polls, at most `slots` of each channel. The projects of a channel take turns. */
export const claimPolls = (
  database: Database,
  channels: readonly { channelId: string; slots: number }[],
  { leastSeconds, mostSeconds }: PollBounds,
): Promise<ClaimedPoll[]> =>
  database.call<ClaimedPoll>('claim_polls', [
    channels.map(({ channelId }) => channelId),
    channels.map(({ slots }) => slots),
    leastSeconds,
    mostSeconds,
  ]);

/** Makes the next poll of a parked job due now. No effect on a job that a worker polls. */
export async function hastenPoll(database: Database, attemptId: string): Promise<void> {
  await database.query(
    'hasten-poll',
    'update attempt set next_poll_at = clock_timestamp() where id = $1 and next_poll_at > clock_timestamp()',
    [attemptId],
  );
}

/** Writes the progress of many running tasks in one statement. It never falls, over the channels of a task too. */
export async function saveProgress(database: Database, progress: ReadonlyMap<string, number>): Promise<void> {
  await database.query(
    'save-progress',
    `with reported as (
       select t.id, g.progress from unnest($1::text[], $2::int[]) g (id, progress) join task t using (id)
       where t.completed_at is null order by t.id for no key update of t skip locked
     )
     update task t set progress = greatest(g.progress, t.progress) from reported g where t.id = g.id`,
    [[...progress.keys()], [...progress.values()]],
  );
}

/** The words with which the workflow of a running task is started again, or null if the task has ended. */
export async function findRunningTask(database: Database, taskId: string): Promise<TaskStart | null> {
  return database.first<TaskStart>(
    'find-running-task',
    `select id as task_id, project_id, type, model_id, input, trace_parent from task
     where id = $1 and admission = 'reserved' and completed_at is null`,
    [taskId],
  );
}
