import type { JsonObject } from '../../domain/json.ts';
import type { Database } from '../database.ts';

/**
 * Records a client's cancel request. From then on no attempt begins, even if the cancel is refused. It locks the task's row, as
 * beginning an attempt does, so that each sees the other. The process that gets a `mark` decides the cancel. `joined`: another
 * process decides one, which takes at most `decisionSeconds`; an older mark is taken over. `ended`: no cancel is pending any more, because the
 * task has ended or another process has just refused its cancel.
 */
export async function requestCancel(
  database: Database,
  taskId: string,
  decisionSeconds: number,
): Promise<{ mark: string } | 'joined' | 'ended'> {
  const marked = await database.first<{ mark: string }>(
    'request-cancel',
    `update task set cancel_requested_at = clock_timestamp(), cancel_refused_at = null
     where id = $1 and completed_at is null
       and (cancel_requested_at is null or cancel_refused_at is not null
         or cancel_requested_at < clock_timestamp() - make_interval(secs => $2))
     returning cancel_requested_at::text as mark`,
    [taskId, decisionSeconds],
  );
  return marked ?? ((await isCancelPending(database, taskId)) ? 'joined' : 'ended');
}

/** Whether a cancel of the task is undecided. */
export async function isCancelPending(database: Database, taskId: string): Promise<boolean> {
  return database.returnsRow(
    'is-cancel-pending',
    `select 1 from task where id = $1 and cancel_requested_at is not null and cancel_refused_at is null
       and completed_at is null`,
    [taskId],
  );
}

/** Refuses the cancel of this mark. The task continues with its running job. */
export async function refuseCancel(database: Database, taskId: string, mark: string): Promise<void> {
  await database.query(
    'refuse-cancel',
    `update task set cancel_refused_at = clock_timestamp()
     where id = $1 and cancel_requested_at = $2::timestamptz and completed_at is null`,
    [taskId, mark],
  );
}

/** Takes over, each once, the cancels that were not decided in time, because the process that should decide them is gone. */
export async function takeOverCancels(
  database: Database,
  decisionSeconds: number,
  limit: number,
): Promise<{ taskId: string; mark: string }[]> {
  return database.query<{ taskId: string; mark: string }>(
    'take-over-cancels',
    `with abandoned as (
       select id from task
       where completed_at is null and admission <> 'rejected' and cancel_refused_at is null
         and cancel_requested_at < clock_timestamp() - make_interval(secs => $1)
       order by deadline_at limit $2 for no key update skip locked
     )
     update task t set cancel_requested_at = clock_timestamp() from abandoned a where t.id = a.id
     returning t.id as task_id, t.cancel_requested_at::text as mark`,
    [decisionSeconds, limit],
  );
}

/** Whether the client requested a cancel and no attempt is left whose outcome could end the task otherwise. */
export async function isCancelDue(database: Database, taskId: string): Promise<boolean> {
  return database.returnsRow(
    'is-cancel-due',
    `select 1 from task t where t.id = $1 and t.cancel_requested_at is not null and t.completed_at is null
       and not exists (select from attempt a where a.request_id = t.id and ${mayDecide})`,
    [taskId],
  );
}

const mayDecide = `(a.outcome is null or a.outcome in ('ok', 'refused', 'unknown'))`;

export interface LiveAttempt {
  attemptId: string;
  channelId: string;
  /** Null while the submit is in flight. */
  operation: JsonObject | null;
  /** Its outcome ends the task, and that end is about to be written. */
  decided: boolean;
}

/** The attempt that runs or whose outcome ends the task; null if there is none or the task has ended. */
export async function findLiveAttempt(database: Database, taskId: string): Promise<LiveAttempt | null> {
  return database.first<LiveAttempt>(
    'find-live-attempt',
    `select a.id as attempt_id, a.channel_id, a.operation, a.outcome is not null as decided from attempt a
       join task t on t.id = a.request_id
     where a.request_id = $1 and t.completed_at is null and ${mayDecide} order by a.n desc limit 1`,
    [taskId],
  );
}
