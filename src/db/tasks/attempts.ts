import type { JsonObject } from '../../domain/json.ts';
import type { BusyChannel } from '../../domain/channels/channel-health.ts';
import type { TaskSnapshot } from '../../domain/tasks/task-snapshot.ts';
import { mediaInputKeys } from '../../domain/catalog/parameter-value.ts';
import type { TaskStatus, TaskType } from '../../domain/tasks/task.ts';
import type { ErrorClass, RecordedOutcome, UpstreamOutput } from '../../domain/channels/upstream.ts';
import type { TaskOutput } from '../../domain/tasks/task-view.ts';
import { toMembers } from '../column-names.ts';
import type { Database } from '../database.ts';
import type { FileDraft } from '../files/files.ts';

/** The attempt row that an attempt activity begins with or resumes from. */
export interface AttemptMemory {
  attemptId: string;
  fence: string;
  /** Whether this call inserted the row. Only then may a submit follow. */
  fresh: boolean;
  outcome: RecordedOutcome | null;
  code: string | null;
  operation: JsonObject | null;
  result: UpstreamOutput[] | null;
  /** Milliseconds until no submit of an earlier holder can be in flight any more; 0 or less if none can be. */
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
  /**
   * The latest attempt on the channel that was asked for, with the time since it began. Its outcome is null while it runs. Null if there is
   * none, or if the channel was too busy or not reachable then and may be called again now.
   */
  begun: (Pick<AttemptMemory, 'outcome' | 'code'> & { ageMs: number }) | null;
}

/** An admitted task as an attempt on `channelId` needs it, or null. */
export async function findTaskForAttempt(
  database: Database,
  taskId: string,
  channelId: string | null = null,
): Promise<AttemptTask | null> {
  return database.first<AttemptTask>(
    'task-for-attempt',
    `select id as task_id, project_id, request_id, type, model_id, status, input, snapshot,
       extract(epoch from deadline_at - clock_timestamp())::float8 * 1000 as remaining_ms,
       cancel_requested_at is not null as cancel_requested,
       (select jsonb_build_object('outcome', outcome, 'code', code,
          'ageMs', extract(epoch from clock_timestamp() - started_at) * 1000)
        from (select * from attempt where request_id = task.id and channel_id = $2 order by n desc limit 1) latest
        where outcome is distinct from 'transient' or retry_at is null or retry_at > clock_timestamp()) as begun
     from task where id = $1 and admission = 'reserved'`,
    [taskId, channelId],
  );
}

/** The ids under which an attempt begins, and the adapter that the caller will use. */
export interface AttemptStart {
  attemptId: string;
  taskId: string;
  channelId: string;
  fence: string;
  /** How long a submit may be in flight, by the type of the task. */
  submitSeconds: Readonly<Record<TaskType, number>>;
  /** How long this attempt may be the one probe of a tripped channel. */
  probeSeconds: number;
  adapter: string;
}

/**
 * An admitted task as an attempt needs it, or null. `started`: the attempt's row was inserted as well, as by `beginAttempt`. That is
 * the case unless an attempt exists, the request names media inputs, or no attempt may begin. Called again with the same fencing
 * token before anything was sent, it returns the same.
 */
export async function startAttempt(
  database: Database,
  { attemptId, taskId, channelId, fence, submitSeconds, probeSeconds, adapter }: AttemptStart,
): Promise<(AttemptTask & { started: boolean }) | null> {
  const { image, video } = submitSeconds;
  const args = [attemptId, taskId, channelId, fence, image, video, probeSeconds, adapter, mediaInputKeys];
  const [row] = await database.call<AttemptTask & { started: boolean }>('start_attempt', args);
  return row ?? null;
}

/**
 * Begins the attempt of a task on a channel, or takes over the existing one with a new fencing token. A channel that was too busy for the
 * task, or that it could not reach, gets another attempt from the time on that its row names. Null if no attempt may begin:
 * the task has ended or is being canceled, or the channel is not enabled, not available, or has another adapter now.
 */
export async function beginAttempt(
  database: Database,
  input: {
    attemptId: string;
    taskId: string;
    channelId: string;
    fence: string;
    submitSeconds: number;
    costMicroUsd: number;
    /** How long this attempt may be the one probe of a tripped channel. */
    probeSeconds: number;
    /** The adapter that the caller will use. Its row of the channel may be outdated. */
    adapter: string;
  },
): Promise<AttemptMemory | null> {
  const { attemptId, taskId, channelId, fence, submitSeconds, costMicroUsd, probeSeconds, adapter } = input;
  const args = [attemptId, taskId, channelId, fence, submitSeconds, costMicroUsd, probeSeconds, adapter];
  const [row] = await database.call<Omit<AttemptMemory, 'fence'>>('begin_attempt', args);
  // Called again after an answer that was lost, it finds the row that it inserted, and nothing was sent meanwhile.
  return row ? { ...row, fence, fresh: row.fresh || row.attemptId === attemptId } : null;
}

type Held = Pick<AttemptMemory, 'attemptId' | 'fence'>;

/** Whether the database has this attempt. A standby that took over without the last transactions may lack it. */
export const hasAttempt = (database: Database, attemptId: string): Promise<boolean> =>
  database.returnsRow('has-attempt', 'select 1 from attempt where id = $1', [attemptId]);

/** Restarts the time limit of a submit before it is sent; false if another holder has taken the attempt over or the task has ended. */
export async function renewSubmit(database: Database, held: Held, seconds: number): Promise<boolean> {
  return database.returnsRow(
    'renew-submit',
    `update attempt set submit_deadline = clock_timestamp() + make_interval(secs => $3)
     where id = $1 and fence = $2 and outcome is null and operation is null
       and exists (select from task t where t.id = attempt.request_id and t.completed_at is null) returning 1`,
    [held.attemptId, held.fence, seconds],
  );
}

/**
 * Saves the upstream's job reference before the first poll. Operators need it even if another holder has taken the attempt over, but
 * only the current holder gets true.
 */
export async function saveProviderRef(database: Database, held: Held, providerRef: JsonObject): Promise<boolean> {
  const [row] = await database.query<{ ours: boolean }>(
    'save-operation',
    `update attempt set operation = coalesce(operation, $3::jsonb), submitted_at = coalesce(submitted_at, clock_timestamp())
     where id = $1 returning fence = $2 and outcome is null as ours`,
    [held.attemptId, held.fence, JSON.stringify(providerRef)],
  );
  return row?.ours ?? false;
}

/**
 * Saves the addresses of the results before they are copied, so that copying can resume, and the rows of the files before their bytes
 * (`draftFiles`). `result` is null if the results have no addresses.
 */
export async function saveResult(
  database: Database,
  held: Held,
  result: UpstreamOutput[] | null,
  files: { projectId: string; taskId: string; drafts: readonly FileDraft[]; keptSeconds: number },
): Promise<boolean> {
  return database.returnsRow(
    'save-result',
    `with held as (
       update attempt set result = $3::jsonb where id = $1 and fence = $2 and outcome is null returning 1
     ), drafted as (
       insert into file (id, project_id, task_id, purpose, storage_key, mime_type, bytes, sha256, expires_at)
       select draft.id, $5, $6, 'output', draft.storage_key, 'application/octet-stream', 0, '',
              date_trunc('second', clock_timestamp()) + make_interval(secs => $7)
       from jsonb_to_recordset($4::jsonb) as draft (id text, storage_key text), held
       -- Written again after an answer that was lost.
       on conflict do nothing
     )
     select 1 from held`,
    [
      held.attemptId,
      held.fence,
      result && JSON.stringify(result),
      toMembers(files.drafts),
      files.projectId,
      files.taskId,
      files.keptSeconds,
    ],
  );
}

export interface AttemptEnd {
  outcome: NonNullable<AttemptMemory['outcome']>;
  code?: string | null;
  errorClass?: ErrorClass | null;
  status?: number | null;
  detail?: string | null;
  /** The channel was too busy or could not be reached, and bought nothing: when the task may call it again. */
  retry?: BusyChannel | null;
  outputs?: TaskOutput[];
  /** Replaces the addresses of results that the task does not get. */
  sealedResult?: string | null;
}

/** Ends an attempt once; false if another holder has ended it or taken it over. */
export async function endAttempt(database: Database, held: Held, end: AttemptEnd): Promise<boolean> {
  const retry = end.outcome === 'transient' ? end.retry : null;
  return database.returnsRow(
    'end-attempt',
    `update attempt set outcome = $3, code = $4, error_class = $5, status = $6, detail = $7, outputs = $8::jsonb,
       retry_at = clock_timestamp() + make_interval(secs => $9), retry_promised = $10, ended_at = clock_timestamp(), next_poll_at = null,
       result = coalesce(to_jsonb($11::text), result)
     where id = $1 and fence = $2 and outcome is null returning 1`,
    [
      held.attemptId,
      held.fence,
      end.outcome,
      end.code ?? null,
      end.errorClass ?? null,
      end.status ?? null,
      end.detail ?? null,
      end.outputs ? JSON.stringify(end.outputs) : null,
      retry?.seconds ?? null,
      retry?.isPromised ?? null,
      end.sealedResult ?? null,
    ],
  );
}

/** Records that a worker is working on the task, and the upstream's progress, which never falls. `wanted` is false if the task has ended. */
export async function markSeen(
  database: Database,
  taskId: string,
  progress: number | null,
): Promise<{ wanted: boolean }> {
  const rows = await database.query(
    'mark-seen',
    `update task set last_seen_at = clock_timestamp(), progress = greatest($2::int, progress)
     where id = $1 and completed_at is null returning 1`,
    [taskId, progress],
  );
  return { wanted: rows.length === 1 };
}

export interface AttemptedChannel {
  channelId: string;
  name: string;
  outcome: AttemptMemory['outcome'];
  errorClass: ErrorClass | null;
  /**
   * From when on the task may call the channel again, because it was too busy or could not be reached. Unix milliseconds; null after any
   * other outcome.
   */
  retryAtMs: number | null;
  retryPromised: boolean | null;
}

export interface TaskRouting {
  modelId: string;
  groups: string[];
  /** The adapter families that can make it. */
  families: string[];
  /** The attempts of the task, in order. */
  attempted: AttemptedChannel[];
}

/** `TaskRouting` of the task `t`, as JSON. */
export const routingJson = `jsonb_build_object('modelId', t.model_id, 'groups', t.snapshot -> 'groups',
  'families', array(select jsonb_object_keys(t.snapshot -> 'upstream')),
  'attempted', array(select jsonb_build_object('channelId', channel_id, 'name', channel_name, 'outcome', outcome, 'errorClass', error_class,
                       'retryAtMs', extract(epoch from retry_at) * 1000, 'retryPromised', retry_promised)
                     from attempt where request_id = t.id order by n))`;

/** The facts that decide which channels an admitted task may try, or null if there is no such task. */
export async function findTaskRouting(database: Database, taskId: string): Promise<TaskRouting | null> {
  const row = await database.first<{ routing: TaskRouting }>(
    'task-routing',
    `select ${routingJson} as routing from task t where id = $1 and admission = 'reserved'`,
    [taskId],
  );
  return row?.routing ?? null;
}
