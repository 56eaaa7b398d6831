import type { JsonObject } from '../domain/json.ts';
import type { TaskErrorCode, TaskOutput, TaskStatus, TaskType } from '../domain/task.ts';
import type { Database } from './database.ts';
import { unixSeconds } from './unix-seconds.ts';

/** A task as its clients see it, before it is put into a dialect's words. Times are unix seconds. */
export interface TaskView {
  id: string;
  projectId: string;
  requestId: string;
  type: TaskType;
  modelId: string;
  status: TaskStatus;
  admission: 'open' | 'reserved' | 'rejected';
  input: JsonObject | null;
  output: TaskOutput[] | null;
  errorCode: TaskErrorCode | null;
  outcomeUnknown: boolean;
  progress: number | null;
  attempts: number;
  createdAt: number;
  startedAt: number | null;
  completedAt: number | null;
  expiresAt: number | null;
  credits: { quoted: number; reserved: number; charged: number; refunded: number };
  callback: { state: string; attempts: number; lastStatus: number | null; nextAttemptAt: number | null } | null;
}

/** A row of `viewColumns`: the view, with its credits and its callback still column by column. */
interface TaskRow extends Omit<TaskView, 'credits' | 'callback'> {
  creditsQuoted: number;
  creditsReserved: number;
  creditsCharged: number;
  creditsRefunded: number;
  callbackUrl: string | null;
  deliveryState: string | null;
  deliveryAttempts: number | null;
  deliveryLastStatus: number | null;
  deliveryNextAttemptAt: number | null;
}

const viewColumns = `t.id, t.project_id, t.request_id, t.type, t.model_id, t.status, t.admission, t.input, t.output,
  t.error_code, t.outcome_unknown, t.progress, t.attempts, ${unixSeconds('t.created_at')} as created_at, ${unixSeconds('t.started_at')} as started_at,
  ${unixSeconds('t.completed_at')} as completed_at, ${unixSeconds('t.expires_at')} as expires_at,
  t.credits_quoted, t.credits_reserved, t.credits_charged, t.credits_refunded, t.callback_url,
  d.state as delivery_state, d.attempts as delivery_attempts, d.last_status as delivery_last_status,
  ${unixSeconds('d.next_attempt_at')} as delivery_next_attempt_at`;

const withDelivery = `left join lateral (
    select state, attempts, last_status, next_attempt_at from delivery where task_id = t.id order by created_at desc limit 1
  ) d on t.callback_url is not null`;

const toView = ({
  creditsQuoted: quoted,
  creditsReserved: reserved,
  creditsCharged: charged,
  creditsRefunded: refunded,
  callbackUrl,
  deliveryState,
  deliveryAttempts,
  deliveryLastStatus,
  deliveryNextAttemptAt,
  ...task
}: TaskRow): TaskView => ({
  ...task,
  credits: { quoted, reserved, charged, refunded },
  callback:
    callbackUrl === null
      ? null
      : {
          state: deliveryState ?? 'pending',
          attempts: deliveryAttempts ?? 0,
          lastStatus: deliveryLastStatus,
          nextAttemptAt: deliveryNextAttemptAt,
        },
});

/** One task by its id, whatever its admission; null when there is none. One indexed read. */
export async function findTask(database: Database, taskId: string): Promise<TaskView | null> {
  const [row] = await database.query<TaskRow>(
    'find-task',
    `select ${viewColumns} from task t ${withDelivery} where t.id = $1`,
    [taskId],
  );
  return row ? toView(row) : null;
}

export interface TaskFilter {
  projectId?: string;
  status?: TaskStatus;
  /** Those whose outcome upstream is not known and whose case no operator has closed (`tasks resolve`). */
  unknownOnly?: boolean;
  limit: number;
}

/** The newest admitted tasks first. */
export async function listTasks(database: Database, filter: TaskFilter): Promise<TaskView[]> {
  const rows = await database.query<TaskRow>(
    'list-tasks',
    `select ${viewColumns} from task t ${withDelivery}
     where t.admission = 'reserved' and ($1::text is null or t.project_id = $1) and ($2::text is null or t.status = $2)
       and (not $3::boolean or (t.outcome_unknown and not exists (select from task_resolution r where r.task_id = t.id)))
     order by t.id desc limit $4`,
    [filter.projectId ?? null, filter.status ?? null, filter.unknownOnly ?? false, filter.limit],
  );
  return rows.map(toView);
}

/** What a workflow is started with: ids and words for the Temporal UI, nothing else. */
export interface TaskStart {
  taskId: string;
  projectId: string;
  type: TaskType;
  modelId: string;
  input: JsonObject | null;
}

/**
 * Claims admitted tasks that have no workflow yet, oldest first but one project after the other, for `claimSeconds`: a
 * claim whose start then fails is free again after that.
 */
export async function claimUnstartedTasks(
  database: Database,
  limit: number,
  claimSeconds: number,
): Promise<TaskStart[]> {
  return database.query<TaskStart>(
    'claim-unstarted',
    `with waiting as (
       select id, row_number() over (partition by project_id order by created_at) as turn, created_at
       from (select id, project_id, created_at from task
             where admission = 'reserved' and workflow_started_at is null and completed_at is null
               and (start_claimed_until is null or start_claimed_until < clock_timestamp())
             order by created_at limit 4000) oldest
     ), claimed as (
       select t.id from task t join waiting w using (id)
       where t.workflow_started_at is null and t.completed_at is null
         and (t.start_claimed_until is null or t.start_claimed_until < clock_timestamp())
       order by w.turn, w.created_at limit $1 for no key update of t skip locked
     )
     update task t set start_claimed_until = clock_timestamp() + make_interval(secs => $2)
     from claimed c where t.id = c.id
     returning t.id as task_id, t.project_id, t.type, t.model_id, t.input`,
    [limit, claimSeconds],
  );
}

/** Remembers that these tasks' workflows exist. */
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

/**
 * Tasks that nobody seems to work on: written but never decided (the route died), or silent for too long (the workflow
 * was terminated, or Temporal lost it). Each is marked as seen, so that it is offered once per period.
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
         and ((admission = 'open' and last_seen_at < clock_timestamp() - make_interval(secs => $1))
           or (admission = 'reserved' and workflow_started_at is not null
               and last_seen_at < clock_timestamp() - make_interval(secs => $2)))
       order by last_seen_at limit $3 for no key update skip locked
     )
     update task t set last_seen_at = clock_timestamp() from silent s where t.id = s.id
     returning t.id as task_id, t.project_id, t.type, t.model_id, t.input`,
    [periods.openSeconds, periods.silentSeconds, periods.limit],
  );
}

/** Tasks past their deadline by the database clock that have not ended, but for those in `except`. */
export async function listStaleTasks(
  database: Database,
  limit: number,
  except: readonly string[] = [],
): Promise<string[]> {
  const rows = await database.query<{ id: string }>(
    'list-stale',
    `select id from task where completed_at is null and admission <> 'rejected' and deadline_at < clock_timestamp()
       and id <> all ($2) order by deadline_at limit $1`,
    [limit, except],
  );
  return rows.map(({ id }) => id);
}

/** Seconds that the oldest admitted task has waited for its workflow; 0 when none waits. */
export async function oldestUnstartedSeconds(database: Database): Promise<number> {
  const [row] = await database.query<{ seconds: number | null }>(
    'oldest-unstarted',
    `select extract(epoch from clock_timestamp() - min(created_at))::float8 as seconds from task
     where admission = 'reserved' and workflow_started_at is null and completed_at is null`,
  );
  return row?.seconds ?? 0;
}
