import type { JsonObject } from '../domain/json.ts';
import type { Database } from './database.ts';

/**
 * Writes that the client wants the task stopped; from then on no attempt begins. It takes the task's lock, as beginning an
 * attempt does, so one of the two sees the other. `joined`: another cancel has been asked for and not been answered yet.
 */
export async function requestCancel(database: Database, taskId: string): Promise<'requested' | 'joined' | 'ended'> {
  const [row] = await database.query<{ joined: boolean }>(
    {
      name: 'request-cancel',
      text: `update task t set cancel_requested_at = coalesce(t.cancel_requested_at, clock_timestamp())
             from (select id, cancel_requested_at from task where id = $1 and completed_at is null for no key update) was
             where t.id = was.id returning was.cancel_requested_at is not null as joined`,
    },
    [taskId],
  );
  if (!row) return 'ended';
  return row.joined ? 'joined' : 'requested';
}

/** Whether a cancel is still being decided. */
export async function isCancelPending(database: Database, taskId: string): Promise<boolean> {
  const rows = await database.query(
    {
      name: 'is-cancel-pending',
      text: 'select 1 from task where id = $1 and cancel_requested_at is not null and completed_at is null',
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
  /** It decided the task's end, which is about to be written. */
  decided: boolean;
}

/** The attempt of a task that has not ended, or that has decided the task; null when nothing was bought or all of it failed. */
export async function findLiveAttempt(database: Database, taskId: string): Promise<LiveAttempt | null> {
  const [row] = await database.query<{
    id: string;
    channel_id: string;
    operation: JsonObject | null;
    decided: boolean;
  }>(
    {
      name: 'find-live-attempt',
      text: `select id, channel_id, operation, outcome is not null as decided from attempt
             where request_id = $1 and (outcome is null or outcome in ('ok', 'refused', 'unknown')) order by n desc limit 1`,
    },
    [taskId],
  );
  return row ? { attemptId: row.id, channelId: row.channel_id, operation: row.operation, decided: row.decided } : null;
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
