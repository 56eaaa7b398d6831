import type { JsonObject } from '../../domain/json.ts';
import type { Database } from '../database.ts';

export interface StoppableProviderJob {
  attemptId: string;
  channelId: string;
  operation: JsonObject;
}

export interface TaskStop extends StoppableProviderJob {
  taskId: string;
}

/** The jobs to stop after the end of these tasks: the upstream has accepted them, they may still run, and no stop was claimed. */
export async function listStops(database: Database, taskIds: readonly string[]): Promise<TaskStop[]> {
  return database.query<TaskStop>(
    'list-stops',
    `select a.id as attempt_id, a.channel_id, a.operation, t.id as task_id from attempt a join task t on t.id = a.request_id
     where a.request_id = any ($1) and t.status in ('failed', 'canceled')
       and a.operation is not null and a.stop_sent_at is null
       and (a.outcome is null or a.outcome in ('unknown', 'canceled'))`,
    [taskIds],
  );
}

/**
 * Claims the stop of a job; true for the one caller that may send it. A claim older than `againAfterSeconds` can be claimed again,
 * because its process has ended or received no answer. Null: a claim never expires.
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

/** Releases the claim of a stop that did nothing to the job, so that the stop can be claimed again. */
export async function releaseStop(database: Database, attemptId: string): Promise<void> {
  await database.query('release-stop', 'update attempt set stop_sent_at = null where id = $1', [attemptId]);
}
