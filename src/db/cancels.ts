import type { JsonObject } from '../domain/json.ts';
import type { Database } from './database.ts';

/**
 * Writes that the client wants the task stopped; from then on no attempt begins. False when the task has ended. It takes
 * the task's lock, as beginning an attempt does, so one of the two sees the other.
 */
export async function requestCancel(database: Database, taskId: string): Promise<boolean> {
  const rows = await database.query(
    {
      name: 'request-cancel',
      text: `update task set cancel_requested_at = coalesce(cancel_requested_at, clock_timestamp())
             where id = $1 and completed_at is null returning 1`,
    },
    [taskId],
  );
  return rows.length === 1;
}

/** The cancel was not granted: the task goes on, to further channels too. */
export async function withdrawCancel(database: Database, taskId: string): Promise<void> {
  await database.query(
    {
      name: 'withdraw-cancel',
      text: 'update task set cancel_requested_at = null where id = $1 and completed_at is null',
    },
    [taskId],
  );
}

export interface LiveAttempt {
  attemptId: string;
  channelId: string;
  /** Null while the submit is on its way. */
  operation: JsonObject | null;
}

/** The attempt of a task that has not ended, if there is one. */
export async function findLiveAttempt(database: Database, taskId: string): Promise<LiveAttempt | null> {
  const [row] = await database.query<{ id: string; channel_id: string; operation: JsonObject | null }>(
    {
      name: 'find-live-attempt',
      text: 'select id, channel_id, operation from attempt where request_id = $1 and outcome is null order by n desc limit 1',
    },
    [taskId],
  );
  return row ? { attemptId: row.id, channelId: row.channel_id, operation: row.operation } : null;
}

/** True for the one who may tell this job's upstream to stop. */
export async function claimStop(database: Database, attemptId: string): Promise<boolean> {
  const rows = await database.query(
    {
      name: 'claim-stop',
      text: `update attempt set stop_sent_at = clock_timestamp()
             where id = $1 and stop_sent_at is null and outcome is null returning 1`,
    },
    [attemptId],
  );
  return rows.length === 1;
}
