import type { JsonObject } from '../domain/json.ts';
import type { TaskSnapshot } from '../domain/task-snapshot.ts';
import type { TaskOutput, TaskStatus, TaskType } from '../domain/task.ts';
import type { AttemptOutcome, ErrorClass, UpstreamOutput } from '../domain/upstream.ts';
import type { Database } from './database.ts';

/** What the attempt activity finds when it begins or resumes: the row is its memory. */
export interface AttemptMemory {
  attemptId: string;
  fence: string;
  /** True when this call inserted the row: only then may a submit follow. */
  fresh: boolean;
  outcome: AttemptOutcome | 'canceled' | null;
  code: string | null;
  operation: JsonObject | null;
  result: UpstreamOutput[] | null;
  /** Milliseconds until no submit of an earlier holder can still be on its way; ≤ 0 when none can. */
  submitDeadlineMs: number;
}

export interface AttemptTask {
  taskId: string;
  projectId: string;
  requestId: string;
  type: TaskType;
  modelId: string;
  status: TaskStatus;
  input: JsonObject | null;
  snapshot: TaskSnapshot;
  remainingMs: number;
  cancelRequested: boolean;
}

/** The task as an attempt needs it; null when there is none. */
export async function findTaskForAttempt(database: Database, taskId: string): Promise<AttemptTask | null> {
  const [row] = await database.query<AttemptTask>(
    {
      name: 'task-for-attempt',
      text: `select id as task_id, project_id, request_id, type, model_id, status, input, snapshot,
               extract(epoch from deadline_at - clock_timestamp())::float8 * 1000 as remaining_ms,
               cancel_requested_at is not null as cancel_requested
             from task where id = $1 and admission = 'reserved'`,
    },
    [taskId],
  );
  return row ?? null;
}

/**
 * Opens the attempt of `task` on one channel, or takes over the one that exists with a new fence. Null when nothing may
 * begin: the task has ended or is being canceled, or the channel is no longer enabled and available, or has another adapter by now.
 */
export async function beginAttempt(
  database: Database,
  given: {
    attemptId: string;
    taskId: string;
    channelId: string;
    fence: string;
    submitSeconds: number;
    costMicroUsd: number;
    /** How long this attempt may be the one probe of a tripped channel. */
    probeSeconds: number;
    /** The family that will be spoken: the caller's row of the channel may be older than the channel. */
    adapter: string;
  },
): Promise<AttemptMemory | null> {
  const [row] = await database.query<Omit<AttemptMemory, 'fence'>>(
    {
      name: 'begin-attempt',
      text: `select id as attempt_id, fresh, outcome, code, operation, result, submit_deadline_ms from begin_attempt($1, $2, $3, $4, $5, $6, $7, $8)`,
    },
    [
      given.attemptId,
      given.taskId,
      given.channelId,
      given.fence,
      given.submitSeconds,
      given.costMicroUsd,
      given.probeSeconds,
      given.adapter,
    ],
  );
  return row ? { ...row, fence: given.fence } : null;
}

interface Held {
  attemptId: string;
  fence: string;
}

/**
 * Counts the time for a submit from now on, before it is sent; false when another holder has taken the attempt over, or the
 * task has ended.
 */
export async function renewSubmit(database: Database, held: Held, seconds: number): Promise<boolean> {
  const rows = await database.query(
    {
      name: 'renew-submit',
      text: `update attempt set submit_deadline = clock_timestamp() + make_interval(secs => $3)
             where id = $1 and fence = $2 and outcome is null and operation is null
               and exists (select from task t where t.id = attempt.request_id and t.completed_at is null) returning 1`,
    },
    [held.attemptId, held.fence, seconds],
  );
  return rows.length === 1;
}

/**
 * Saves the upstream's reference before the first poll. Kept for the operator even when another holder has taken the
 * attempt over; true only while the fence is still ours.
 */
export async function saveOperation(database: Database, held: Held, operation: JsonObject): Promise<boolean> {
  const [row] = await database.query<{ ours: boolean }>(
    {
      name: 'save-operation',
      text: `update attempt set operation = coalesce(operation, $3::jsonb), submitted_at = coalesce(submitted_at, clock_timestamp())
             where id = $1 returning fence = $2 and outcome is null as ours`,
    },
    [held.attemptId, held.fence, JSON.stringify(operation)],
  );
  return row?.ours ?? false;
}

/** Saves where the results lie before they are copied, so that copying can resume. */
export async function saveResult(database: Database, held: Held, result: UpstreamOutput[]): Promise<boolean> {
  const rows = await database.query(
    {
      name: 'save-result',
      text: `update attempt set result = $3::jsonb where id = $1 and fence = $2 and outcome is null returning 1`,
    },
    [held.attemptId, held.fence, JSON.stringify(result)],
  );
  return rows.length === 1;
}

export interface AttemptEnd {
  outcome: AttemptOutcome | 'canceled';
  code?: string | null;
  errorClass?: ErrorClass | null;
  status?: number | null;
  detail?: string | null;
  outputs?: TaskOutput[];
}

/** Ends an attempt once; false when another holder ended it or took it over. */
export async function endAttempt(database: Database, held: Held, end: AttemptEnd): Promise<boolean> {
  const rows = await database.query(
    {
      name: 'end-attempt',
      text: `update attempt set outcome = $3, code = $4, error_class = $5, status = $6, detail = $7, outputs = $8::jsonb,
               ended_at = clock_timestamp()
             where id = $1 and fence = $2 and outcome is null returning 1`,
    },
    [
      held.attemptId,
      held.fence,
      end.outcome,
      end.code ?? null,
      end.errorClass ?? null,
      end.status ?? null,
      end.detail ?? null,
      end.outputs ? JSON.stringify(end.outputs) : null,
    ],
  );
  return rows.length === 1;
}

/** Says that somebody is still working on the task, and how far the upstream is. Answers whether the task still wants it. */
export async function markSeen(
  database: Database,
  taskId: string,
  progress: number | null,
): Promise<{ wanted: boolean }> {
  const rows = await database.query(
    {
      name: 'mark-seen',
      text: `update task set last_seen_at = clock_timestamp(), progress = coalesce($2::int, progress)
             where id = $1 and completed_at is null returning 1`,
    },
    [taskId, progress],
  );
  return { wanted: rows.length === 1 };
}

/** A channel that a task has tried or is trying. */
export interface AttemptedChannel {
  channelId: string;
  name: string;
  outcome: AttemptOutcome | 'canceled' | null;
}

/** What decides where a task may go, and where it has been. */
export interface TaskRouting {
  modelId: string;
  groups: string[];
  /** The upstream families that can make it. */
  families: string[];
  /** In order. */
  attempted: AttemptedChannel[];
}

/** Null when there is no such task, or it was not admitted. */
export async function findTaskRouting(database: Database, taskId: string): Promise<TaskRouting | null> {
  const [row] = await database.query<TaskRouting>(
    {
      name: 'task-routing',
      text: `select model_id, snapshot -> 'groups' as groups, array(select jsonb_object_keys(snapshot -> 'upstream')) as families,
               array(select jsonb_build_object('channelId', channel_id, 'name', channel_name, 'outcome', outcome)
                     from attempt where request_id = task.id order by n) as attempted
             from task where id = $1 and admission = 'reserved'`,
    },
    [taskId],
  );
  return row ?? null;
}
