import type { ErrorCode } from '../domain/errors.ts';
import type { JsonObject } from '../domain/json.ts';
import type { TaskSnapshot } from '../domain/task-snapshot.ts';
import type { TaskErrorCode, TaskStatus, TaskType } from '../domain/task.ts';
import type { Database } from './database.ts';
import { GroupCommit, type GroupLimits } from './group-commit.ts';

/** Tasks of one project at once: one project never fills the queues of all the others. */
const IN_FLIGHT_PER_PROJECT_MAX = 2_000;

/** A task about to be written, with its price already contracted. */
export interface NewTask {
  taskId: string;
  projectId: string;
  keyId: string;
  requestId: string;
  dialect: string;
  type: TaskType;
  modelId: string;
  input: JsonObject;
  snapshot: TaskSnapshot;
  credits: number;
  callbackUrl: string | null;
  deadlineSeconds: number;
  idempotency: { route: string; key: string; fingerprint: string; keptSeconds: number } | null;
}

export type CreateVerdict =
  { kind: 'created' } | { kind: 'replay'; taskId: string } | { kind: 'reused' } | { kind: 'refused'; code: ErrorCode };

/** What reserve decided, now or the first time. `remainingMs` is the time to the deadline by the database clock. */
export interface Admission {
  taskId: string;
  admitted: boolean;
  refusalCode: ErrorCode | null;
  remainingMs: number;
  status: TaskStatus;
}

export interface TaskEnd {
  taskId: string;
  status: 'succeeded' | 'failed' | 'canceled';
  errorCode: TaskErrorCode | null;
  outcomeUnknown: boolean;
  retentionSeconds: number;
  /** Used for the callback's row, where the task has a callback_url. */
  deliveryId: string;
  eventId: string;
}

export interface Finish {
  /** True for the one call that ended the task. */
  finished: boolean;
  status: TaskStatus;
  errorCode: TaskErrorCode | null;
  deliveryId: string | null;
}

/**
 * Calls the SQL functions that move the credits of media tasks (`sql/functions`). Calls of the same moment share a statement; each
 * is idempotent per request.
 */
export class Ledger {
  readonly #creates: GroupCommit<NewTask, CreateVerdict>;
  readonly #reserves: GroupCommit<{ taskId: string; byWorkflow: boolean }, Admission>;
  readonly #finishes: GroupCommit<TaskEnd, Finish>;

  constructor(database: Database, limits: GroupLimits & { inFlightPerProjectMax?: number }) {
    const { inFlightPerProjectMax = IN_FLIGHT_PER_PROJECT_MAX, ...group } = limits;
    this.#creates = new GroupCommit({ ...group, run: (tasks) => createTasks(database, tasks) });
    this.#reserves = new GroupCommit({
      ...group,
      run: (asked) => reserveTasks(database, asked, inFlightPerProjectMax),
    });
    this.#finishes = new GroupCommit({ ...group, run: (ends) => finishTasks(database, ends) });
  }

  /** Writes the task and its idempotency row, or nothing (rules "Media tasks", point 1). */
  createTask(task: NewTask): Promise<CreateVerdict> {
    return this.#creates.submit(task);
  }

  /** Holds the quoted credits. Called again for the same task it answers what it answered the first time. */
  reserveTask(taskId: string, byWorkflow: boolean): Promise<Admission> {
    return this.#reserves.submit({ taskId, byWorkflow });
  }

  /** Ends a task once, money and status in one transaction. Called again it changes nothing and says what stands. */
  finishTask(end: TaskEnd): Promise<Finish> {
    return this.#finishes.submit(end);
  }

  /** Resolves when every verb submitted so far has been answered: called before the process ends. */
  async flush(): Promise<void> {
    await Promise.all([this.#creates.flush(), this.#reserves.flush(), this.#finishes.flush()]);
  }
}

async function createTasks(database: Database, tasks: NewTask[]): Promise<CreateVerdict[]> {
  const members = tasks.map((task) => ({
    task_id: task.taskId,
    project_id: task.projectId,
    key_id: task.keyId,
    request_id: task.requestId,
    dialect: task.dialect,
    type: task.type,
    model_id: task.modelId,
    input: task.input,
    snapshot: task.snapshot,
    credits: task.credits,
    callback_url: task.callbackUrl,
    deadline_seconds: task.deadlineSeconds,
    route: task.idempotency?.route,
    idempotency_key: task.idempotency?.key,
    fingerprint: task.idempotency?.fingerprint,
    idempotency_seconds: task.idempotency?.keptSeconds,
  }));
  const rows = await database.query<{ verdict: string; originalTaskId: string | null }>(
    { name: 'create-tasks', text: 'select verdict, original_task_id from create_tasks($1::jsonb)' },
    [JSON.stringify(members)],
  );
  return rows.map(({ verdict, originalTaskId }): CreateVerdict => {
    if (verdict === 'created') return { kind: 'created' };
    if (verdict === 'reused') return { kind: 'reused' };
    if (verdict === 'replay' && originalTaskId !== null) return { kind: 'replay', taskId: originalTaskId };
    return { kind: 'refused', code: verdict as ErrorCode };
  });
}

async function reserveTasks(
  database: Database,
  asked: { taskId: string; byWorkflow: boolean }[],
  inFlightPerProjectMax: number,
): Promise<Admission[]> {
  // The workflow and the route may ask for the same task in one batch; each task is decided once.
  const ids = [...new Set(asked.map(({ taskId }) => taskId))];
  const byWorkflow = asked.some((member) => member.byWorkflow);
  const rows = await database.query<{
    taskId: string;
    admission: string;
    refusalCode: ErrorCode | null;
    remainingMs: number;
    status: TaskStatus;
  }>(
    {
      name: 'reserve-tasks',
      text: 'select task_id, admission, refusal_code, remaining_ms, status from reserve_tasks($1::text[], $2, $3)',
    },
    [ids, byWorkflow, inFlightPerProjectMax],
  );
  const found = new Map(rows.map((row) => [row.taskId, row]));
  return asked.map(({ taskId }): Admission => {
    const row = found.get(taskId);
    if (!row) return { taskId, admitted: false, refusalCode: 'task_not_found', remainingMs: 0, status: 'failed' };
    return {
      taskId,
      admitted: row.admission === 'reserved',
      refusalCode: row.refusalCode,
      remainingMs: row.remainingMs,
      status: row.status,
    };
  });
}

async function finishTasks(database: Database, ends: TaskEnd[]): Promise<Finish[]> {
  const rows = await database.query<Finish>(
    {
      name: 'finish-tasks',
      text: 'select finished, status, error_code, delivery_id from finish_tasks($1::jsonb)',
    },
    [
      JSON.stringify(
        ends.map((end) => ({
          task_id: end.taskId,
          status: end.status,
          error_code: end.errorCode,
          outcome_unknown: end.outcomeUnknown,
          retention_seconds: end.retentionSeconds,
          delivery_id: end.deliveryId,
          event_id: end.eventId,
        })),
      ),
    ],
  );
  if (rows.length !== ends.length) throw new Error('a task to be finished does not exist');
  return rows;
}
