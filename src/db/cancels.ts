import type { JsonObject } from '../domain/json.ts';
import type { Database } from './database.ts';

/**
 * Writes that the client wants the task stopped; from then on no attempt begins, whatever is decided. It takes the task's
 * lock, as beginning an attempt does, so one of the two sees the other. `mark` is for the one who is to decide. `joined`:
 * another cancel is being decided, which takes no longer than `decisionSeconds`; a mark that is older is taken over.
 */
export async function requestCancel(
  database: Database,
  taskId: string,
  decisionSeconds: number,
): Promise<{ mark: string } | 'joined' | 'ended'> {
  const [row] = await database.query<{ mark: string }>(
    {
      name: 'request-cancel',
      text: `update task set cancel_requested_at = clock_timestamp(), cancel_refused_at = null
             where id = $1 and completed_at is null
               and (cancel_requested_at is null or cancel_refused_at is not null
                 or cancel_requested_at < clock_timestamp() - make_interval(secs => $2))
             returning cancel_requested_at::text as mark`,
    },
    [taskId, decisionSeconds],
  );
  if (row) return { mark: row.mark };
  return (await isCancelPending(database, taskId)) ? 'joined' : 'ended';
}

/** Whether a cancel is still being decided. */
export async function isCancelPending(database: Database, taskId: string): Promise<boolean> {
  const rows = await database.query(
    {
      name: 'is-cancel-pending',
      text: `select 1 from task where id = $1 and cancel_requested_at is not null and cancel_refused_at is null
               and completed_at is null`,
    },
    [taskId],
  );
  return rows.length === 1;
}

/** The cancel of this mark is not granted: the task goes on with the job that it has. */
export async function refuseCancel(database: Database, taskId: string, mark: string): Promise<void> {
  await database.query(
    {
      name: 'refuse-cancel',
      text: `update task set cancel_refused_at = clock_timestamp()
             where id = $1 and cancel_requested_at = $2::timestamptz and completed_at is null`,
    },
    [taskId, mark],
  );
}

/** Takes over the cancels that were not decided in time, for whoever was to decide them is gone; each is taken once. */
export async function takeOverCancels(
  database: Database,
  decisionSeconds: number,
  limit: number,
): Promise<{ taskId: string; mark: string }[]> {
  return database.query<{ taskId: string; mark: string }>(
    {
      name: 'take-over-cancels',
      text: `with abandoned as (
               select id from task
               where completed_at is null and admission <> 'rejected' and cancel_refused_at is null
                 and cancel_requested_at < clock_timestamp() - make_interval(secs => $1)
               order by deadline_at limit $2 for no key update skip locked
             )
             update task t set cancel_requested_at = clock_timestamp() from abandoned a where t.id = a.id
             returning t.id as task_id, t.cancel_requested_at::text as mark`,
    },
    [decisionSeconds, limit],
  );
}

/** Whether a client wants the task stopped and no attempt is left that could decide otherwise. */
export async function isCancelDue(database: Database, taskId: string): Promise<boolean> {
  const rows = await database.query(
    {
      name: 'is-cancel-due',
      text: `select 1 from task t where t.id = $1 and t.cancel_requested_at is not null and t.completed_at is null
               and not exists (select from attempt a where a.request_id = t.id and ${mayDecide})`,
    },
    [taskId],
  );
  return rows.length === 1;
}

const mayDecide = `(a.outcome is null or a.outcome in ('ok', 'refused', 'unknown'))`;

export interface LiveAttempt {
  attemptId: string;
  channelId: string;
  /** Null while the submit is on its way. */
  operation: JsonObject | null;
  /** It decided the task's end, which is about to be written. */
  decided: boolean;
}

/** The attempt that has not ended, or that has decided the task; null when nothing was bought, all of it failed or the task has ended. */
export async function findLiveAttempt(database: Database, taskId: string): Promise<LiveAttempt | null> {
  const [row] = await database.query<LiveAttempt>(
    {
      name: 'find-live-attempt',
      text: `select a.id as attempt_id, a.channel_id, a.operation, a.outcome is not null as decided from attempt a
               join task t on t.id = a.request_id
             where a.request_id = $1 and t.completed_at is null and ${mayDecide} order by a.n desc limit 1`,
    },
    [taskId],
  );
  return row ?? null;
}
