import type { JsonObject } from '../domain/json.ts';
import type { Database } from './database.ts';

/** A job that the upstream has accepted, by its attempt. */
export interface AcceptedJob {
  attemptId: string;
  channelId: string;
  operation: JsonObject;
}

/** The jobs that the end of `taskId` should stop: accepted upstream, not known to be over, and nobody has told them yet. */
export async function listStops(database: Database, taskId: string): Promise<AcceptedJob[]> {
  return database.query<AcceptedJob>(
    'list-stops',
    `select a.id as attempt_id, a.channel_id, a.operation from attempt a join task t on t.id = a.request_id
     where a.request_id = $1 and t.status in ('failed', 'canceled')
       and a.operation is not null and a.stop_sent_at is null
       and (a.outcome is null or a.outcome in ('unknown', 'canceled'))`,
    [taskId],
  );
}

/**
 * True for the one who may tell this job's upstream to stop. `againAfterSeconds`: a claim that is older than this may be made
 * anew, for whoever made it is gone or never learned what came of it; null: once for ever.
 */
export async function claimStop(
  database: Database,
  attemptId: string,
  againAfterSeconds: number | null,
): Promise<boolean> {
  return database.returnsRow(
    'claim-stop',
    `update attempt set stop_sent_at = clock_timestamp()
     where id = $1 and (outcome is null or outcome in ('unknown', 'canceled'))
       and (stop_sent_at is null or stop_sent_at < clock_timestamp() - make_interval(secs => $2)) returning 1`,
    [attemptId, againAfterSeconds],
  );
}

/** Nothing was done to the job: its stop may be claimed again. */
export async function releaseStop(database: Database, attemptId: string): Promise<void> {
  await database.query('release-stop', 'update attempt set stop_sent_at = null where id = $1', [attemptId]);
}
