import type { TaskView } from '../../domain/tasks/task-view.ts';
import type { Database, Statements } from '../database.ts';
import type { FileDraft } from '../files/files.ts';
import { unixSeconds } from '../unix-seconds.ts';

/** The columns of `TaskView`, of a task `t` beside `withDelivery`. `json`, unlike `jsonb`, keeps the members in the order that clients know. */
const viewWith = (
  input: string,
): string => `t.id, t.project_id, t.request_id, t.type, t.model_id, t.status, t.admission, t.refusal_code, t.metadata, t.max_credits, t.deleted_at is not null as is_deleted,
  round(extract(epoch from t.deadline_at - t.created_at))::int as deadline_seconds, ${input} as input, t.output,
  t.error_code, t.outcome_unknown, t.progress, t.attempts, ${unixSeconds('t.created_at')} as created_at, ${unixSeconds('t.started_at')} as started_at,
  ${unixSeconds('t.completed_at')} as completed_at, ${unixSeconds('t.expires_at')} as expires_at,
  json_build_object('quoted', t.credits_quoted, 'reserved', t.credits_reserved, 'charged', t.credits_charged,
    'refunded', t.credits_refunded) as credits,
  case when t.callback_url is not null or d.state is not null then json_build_object('state', coalesce(d.state, 'pending'),
    'attempts', coalesce(d.attempts, 0), 'lastStatus', d.last_status, 'nextAttemptAt', ${unixSeconds('d.next_attempt_at')}) end as callback`;
export const viewColumns = viewWith('t.input');
/** For lists of operators. */
export const viewWithoutInput = viewWith('null::jsonb');

/** The last delivery `d` of the task `t`. An erased task has neither its input nor its callback_url, and keeps the state of its callback. */
export const withDelivery = `left join lateral (
    select state, attempts, last_status, next_attempt_at from delivery where task_id = t.id order by created_at desc limit 1
  ) d on t.callback_url is not null or t.input is null`;

/** One task by its id, whatever its admission, or null. One indexed read. */
export const findTask = (database: Statements, taskId: string): Promise<TaskView | null> =>
  database.first('find-task', `select ${viewColumns} from task t ${withDelivery} where t.id = $1`, [taskId]);

/** Those of these tasks that exist, in any order. One indexed read each, also if the statement was planned on an empty table. */
export const findTasks = (database: Statements, taskIds: readonly string[]): Promise<TaskView[]> =>
  database.query(
    'find-tasks',
    `select ${viewColumns} from unnest($1::text[]) requested (id)
       cross join lateral (select * from task where task.id = requested.id limit 1) t ${withDelivery}`,
    [taskIds],
  );

/** Erases an ended task. Returns the files whose bytes the caller has to delete. */
export async function deleteTaskRow(
  database: Database,
  taskId: string,
): Promise<{ verdict: 'deleted' | 'unknown' | 'not_ended'; files: FileDraft[] }> {
  const [row] = await database.call<{ verdict: 'deleted' | 'unknown' | 'not_ended'; files: FileDraft[] }>(
    'delete_task',
    [taskId],
  );
  return row ?? { verdict: 'unknown', files: [] };
}

/** What differs between the states of a task, for those of these tasks that exist. */
export const taskVersions = (
  database: Statements,
  taskIds: readonly string[],
): Promise<{ id: string; version: string }[]> =>
  database.query(
    'task-versions',
    `select t.id, concat_ws(' ', t.status, t.attempts, t.progress) as version from unnest($1::text[]) requested (id)
       cross join lateral (select id, status, attempts, progress from task where task.id = requested.id limit 1) t`,
    [taskIds],
  );

/** A task whose workflow is to be started. */
export interface TaskStart extends Pick<TaskView, 'projectId' | 'type' | 'modelId' | 'input'> {
  taskId: string;
  /** The trace of its create request, if that was traced. */
  traceParent: string | null;
}

/**
 * Claims admitted tasks that have no workflow yet for `claimSeconds`, taking the projects in turn, and of each its oldest and its newest
 * task in turn: after an outage new tasks are served as before while those that waited follow. After that time a task whose start failed
 * can be claimed again.
 */
export async function claimUnstartedTasks(
  database: Database,
  limit: number,
  claimSeconds: number,
): Promise<TaskStart[]> {
  return database.query<TaskStart>(
    'claim-unstarted',
    `with open as (
       (select id, project_id, created_at from task
        where admission = 'reserved' and workflow_started_at is null and completed_at is null
          and (start_claimed_until is null or start_claimed_until < clock_timestamp())
        order by created_at limit 4000)
       union
       (select id, project_id, created_at from task
        where admission = 'reserved' and workflow_started_at is null and completed_at is null
          and (start_claimed_until is null or start_claimed_until < clock_timestamp())
        order by created_at desc limit $1)
     ), waiting as (
       select id, created_at, least(row_number() over (partition by project_id order by created_at),
                                    row_number() over (partition by project_id order by created_at desc)) as turn
       from open
     ), claimed as (
       select t.id from task t join waiting w using (id)
       where t.workflow_started_at is null and t.completed_at is null
         and (t.start_claimed_until is null or t.start_claimed_until < clock_timestamp())
       order by w.turn, w.created_at limit $1 for no key update of t skip locked
     )
     update task t set start_claimed_until = clock_timestamp() + make_interval(secs => $2)
     from claimed c where t.id = c.id
     returning t.id as task_id, t.project_id, t.type, t.model_id, t.input, t.trace_parent`,
    [limit, claimSeconds],
  );
}

/** Those of the tasks for which no provider was called yet, and which have not ended. */
export async function findUnbegun(database: Database, taskIds: readonly string[]): Promise<string[]> {
  const rows = await database.query<{ id: string }>(
    'unbegun-tasks',
    'select id from task where id = any ($1) and started_at is null and completed_at is null',
    [taskIds],
  );
  return rows.map(({ id }) => id);
}

/** Lets these claimed tasks be claimed again after `seconds`, unless their workflow exists now. */
export async function shortenClaims(database: Database, taskIds: string[], seconds: number): Promise<void> {
  await database.query(
    'shorten-claims',
    `with claimed as (
       select id from task where id = any ($1) and workflow_started_at is null order by id for no key update
     )
     update task t set start_claimed_until = clock_timestamp() + make_interval(secs => $2) from claimed c where t.id = c.id`,
    [taskIds, seconds],
  );
}

/** Records that the workflows of these tasks exist. */
export async function markStarted(database: Database, taskIds: string[]): Promise<void> {
  await database.query(
    'mark-started',
    `with waiting as (
       select id from task where id = any ($1) and workflow_started_at is null order by id for no key update
     )
     update task t set workflow_started_at = clock_timestamp() from waiting w where t.id = w.id`,
    [taskIds],
  );
}

/** How long after its row was written the credits of a task without an Idempotency-Key may be reserved (`reserve_tasks.sql`). */
export const UNKEYED_DECIDE_SECONDS = 6;

/**
 * Rejects a task without an Idempotency-Key whose credits are not decided. True if they are reserved, so that it runs. Waits for a
 * reservation that is under way.
 */
export async function rejectUndecided(database: Database, taskId: string): Promise<boolean> {
  await database.query(
    'reject-undecided',
    `update task set admission = 'rejected', refusal_code = 'service_unavailable', status = 'failed', completed_at = clock_timestamp(), input = null
     where id = $1 and admission = 'open'`,
    [taskId],
  );
  const admitted = await database.query('find-reserved', `select from task where id = $1 and admission = 'reserved'`, [
    taskId,
  ]);
  return admitted.length > 0;
}

/**
 * What will become of a task without an Idempotency-Key, also while PostgreSQL cannot write because its disk is full. `never`: its credits
 * can no longer be reserved. A reservation that is under way holds the lock of the row, so its end is awaited.
 */
export async function readUndecided(database: Database, taskId: string): Promise<'reserved' | 'never' | 'undecided'> {
  const row = await database.first<{ admission: TaskView['admission']; isOver: boolean }>(
    'read-undecided',
    `select admission, created_at < clock_timestamp() - make_interval(secs => $2) as is_over
     from (select admission, created_at from task where id = $1 for no key update) t`,
    [taskId, UNKEYED_DECIDE_SECONDS],
  );
  if (row?.admission === 'reserved') return 'reserved';
  return row?.admission === 'open' && !row.isOver ? 'undecided' : 'never';
}

/**
 * Claims tasks on which no process seems to work: written but never decided (the API server died), or silent for too long (the
 * workflow was terminated, or Temporal lost it). Each is marked as seen, so that it is claimed once per period. A task
 * with a parked job is not silent: the poller starts its workflow again when the job has ended.
 */
export async function claimSilentTasks(
  database: Database,
  periods: { openSeconds: number; silentSeconds: number; limit: number },
): Promise<TaskStart[]> {
  return database.query<TaskStart>(
    'claim-silent',
    `with silent as (
       select id from task
       where completed_at is null and deadline_at > clock_timestamp()
         and ((admission = 'open' and last_seen_at < clock_timestamp() - make_interval(secs => $1)
               and (created_at < clock_timestamp() - make_interval(secs => $4)
                 or exists (select from idempotency i where i.task_id = task.id)))
           or (admission = 'reserved' and workflow_started_at is not null
               and last_seen_at < clock_timestamp() - make_interval(secs => $2)
               and not exists (select from attempt a where a.request_id = task.id and a.next_poll_at is not null)))
       order by last_seen_at limit $3 for no key update skip locked
     )
     update task t set last_seen_at = clock_timestamp() from silent s where t.id = s.id
     returning t.id as task_id, t.project_id, t.type, t.model_id, t.input, t.trace_parent`,
    [periods.openSeconds, periods.silentSeconds, periods.limit, UNKEYED_DECIDE_SECONDS],
  );
}

/** The tasks past their deadline by the database clock that have not ended, without those in `except`. */
export const listStaleTasks = (
  database: Database,
  limit: number,
  except: readonly string[] = [],
): Promise<Pick<TaskStart, 'taskId' | 'traceParent'>[]> =>
  database.query(
    'list-stale',
    `select id as task_id, trace_parent from task where completed_at is null and admission <> 'rejected' and deadline_at < clock_timestamp()
       and id <> all ($2) order by deadline_at limit $1`,
    [limit, except],
  );

/** The trace of the request that created a task; null if that was not traced, or if there is no such task. */
export async function findTraceParent(database: Statements, taskId: string): Promise<string | null> {
  const row = await database.first<{ traceParent: string | null }>(
    'find-trace-parent',
    'select trace_parent from task where id = $1',
    [taskId],
  );
  return row?.traceParent ?? null;
}

/** The admitted tasks that wait for their workflow: how many, counted to `countMax`, and the seconds that the oldest has waited. */
export async function readUnstarted(
  database: Database,
  countMax: number,
): Promise<{ count: number; oldestSeconds: number }> {
  const [row] = await database.query<{ count: number; oldestSeconds: number | null }>(
    'read-unstarted',
    `select count(*) as count, extract(epoch from clock_timestamp() - min(created_at))::float8 as oldest_seconds
     from (select created_at from task
           where admission = 'reserved' and workflow_started_at is null and completed_at is null
           order by created_at limit $1) waiting`,
    [countMax],
  );
  return { count: row?.count ?? 0, oldestSeconds: row?.oldestSeconds ?? 0 };
}
