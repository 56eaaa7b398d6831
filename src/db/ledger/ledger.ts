import type { ErrorCode } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import type { TaskOptions } from '../../domain/tasks/task-options.ts';
import type { TaskSnapshot } from '../../domain/tasks/task-snapshot.ts';
import type { TaskErrorCode, TaskStatus, TaskType } from '../../domain/tasks/task.ts';
import { routingJson, type TaskRouting } from '../tasks/attempts.ts';
import { toColumns, toMembers } from '../column-names.ts';
import type { Database, Statements } from '../database.ts';
import type { FileDraft, FileRow } from '../files/files.ts';
import type { IdempotencyBinding } from '../idempotency.ts';
import { GroupCommit, type GroupLimits } from '../group-commit.ts';

/** Concurrent tasks of one project, so that no project fills the queues of all others. */
const IN_FLIGHT_PER_PROJECT_MAX = 2_000;

/** A task to be written, with its final price. */
export interface NewTask extends TaskOptions {
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
  idempotency: IdempotencyBinding | null;
  /** The trace of the request, which the work for the task continues; null if it is not traced. */
  traceParent: string | null;
}

/** `createdAt` is in unix seconds, by the database clock. */
export type CreateVerdict =
  | { kind: 'created'; createdAt: number }
  | { kind: 'replay'; taskId: string }
  | { kind: 'reused' }
  | { kind: 'refused'; code: ErrorCode };

/** The stored verdict about a task's credits. `remainingMs` is the time to the deadline by the database clock. */
export interface Admission {
  taskId: string;
  admitted: boolean;
  refusalCode: ErrorCode | null;
  remainingMs: number;
  status: TaskStatus;
  /** What decides its channels: for a workflow, of an admitted task that has not ended. */
  routing: TaskRouting | null;
}

/** A stored file, whose row still is a draft. */
export type CopiedFile = FileDraft & Pick<FileRow, 'mimeType' | 'bytes' | 'sha256' | 'width' | 'height' | 'duration'>;

/** The end of an attempt with its results, and of its task. */
export interface AttemptFinish extends TaskEnd {
  attemptId: string;
  fence: string;
  files: CopiedFile[];
}

export interface TaskEnd {
  taskId: string;
  status: 'succeeded' | 'failed' | 'canceled';
  errorCode: TaskErrorCode | null;
  outcomeUnknown: boolean;
  retentionSeconds: number;
  /** The ids of the callback, if the task has a callback_url. */
  deliveryId: string;
  eventId: string;
}

export interface Finish {
  /** True if this call ended the task. */
  finished: boolean;
  status: TaskStatus;
  errorCode: TaskErrorCode | null;
  deliveryId: string | null;
}

export interface LedgerOptions extends GroupLimits {
  inFlightPerProjectMax?: number;
  /** Called with each task that this process has ended and its end, after the commit. Must not throw. */
  hasEnded?: (taskId: string, end: Pick<Finish, 'status' | 'errorCode'>) => void;
}

/**
 * Calls the SQL functions that move the credits of media tasks (`sql/functions`). Concurrent calls share a statement, and each call is
 * idempotent per request.
 */
export class Ledger {
  readonly #creates: GroupCommit<NewTask, CreateVerdict>;
  readonly #reserves: GroupCommit<{ taskId: string; byWorkflow: boolean }, Admission>;
  readonly #finishes: GroupCommit<TaskEnd, Finish>;
  readonly #attemptFinishes: GroupCommit<AttemptFinish, Finish | null>;

  constructor(database: Database, options: LedgerOptions) {
    const { inFlightPerProjectMax = IN_FLIGHT_PER_PROJECT_MAX, hasEnded, ...group } = options;
    const announceEnds = async <Result extends Finish | null>(
      ends: readonly TaskEnd[],
      finishing: Promise<Result[]>,
    ): Promise<Result[]> => {
      const finishes = await finishing;
      finishes.forEach((finish, index) => {
        const end = ends[index];
        if (finish?.finished && end) hasEnded?.(end.taskId, finish);
      });
      return finishes;
    };
    this.#creates = new GroupCommit({ ...group, run: (tasks) => createTasks(database, tasks) });
    this.#reserves = new GroupCommit({
      ...group,
      run: (requests) => reserveTasks(database, requests, inFlightPerProjectMax),
    });
    this.#finishes = new GroupCommit({ ...group, run: (ends) => announceEnds(ends, finishTasks(database, ends)) });
    this.#attemptFinishes = new GroupCommit({
      ...group,
      run: (ends) => announceEnds(ends, finishAttempts(database, ends)),
    });
  }

  /** Writes the task and its idempotency row, or nothing (rules "Media tasks", point 1). */
  createTask(task: NewTask): Promise<CreateVerdict> {
    return this.#creates.submit(task);
  }

  /** Holds the quoted credits. Called again for the same task, it returns the first verdict. */
  reserveTask(taskId: string, byWorkflow: boolean): Promise<Admission> {
    return this.#reserves.submit({ taskId, byWorkflow });
  }

  /** Ends a task once, credits and status in one transaction. Called again, it changes nothing and returns the stored end. */
  finishTask(end: TaskEnd): Promise<Finish> {
    return this.#finishes.submit(end);
  }

  /**
   * Ends an attempt with its results, and its task, in one transaction. Null if another holder has ended the attempt or taken it over;
   * then nothing changes. Called again with the same fencing token, it returns the stored end.
   */
  finishAttempt(end: AttemptFinish): Promise<Finish | null> {
    return this.#attemptFinishes.submit(end);
  }

  /** Resolves when every call so far has its answer. Call it before the process ends. */
  async flush(): Promise<void> {
    const groups = [this.#creates, this.#reserves, this.#finishes, this.#attemptFinishes];
    await Promise.all(groups.map((group) => group.flush()));
  }
}

interface CreateRow {
  verdict: string;
  originalTaskId: string | null;
  createdAt: Date | null;
}

async function createTasks(database: Database, tasks: NewTask[]): Promise<CreateVerdict[]> {
  const rows = await database.call<CreateRow>('create_tasks', [
    toMembers(tasks.map(({ idempotency, ...task }) => ({ ...task, ...idempotency }))),
  ]);
  return rows.map(({ verdict, originalTaskId, createdAt }): CreateVerdict => {
    if (verdict === 'created' && createdAt) return { kind: verdict, createdAt: Math.floor(createdAt.getTime() / 1000) };
    if (verdict === 'reused') return { kind: verdict };
    if (verdict === 'replay' && originalTaskId !== null) return { kind: 'replay', taskId: originalTaskId };
    return { kind: 'refused', code: verdict as ErrorCode };
  });
}

async function reserveTasks(
  database: Database,
  requests: { taskId: string; byWorkflow: boolean }[],
  inFlightPerProjectMax: number,
): Promise<Admission[]> {
  // The workflow and the route may ask for the same task in one batch; each task is decided once.
  const ids = [...new Set(requests.map(({ taskId }) => taskId))];
  const byWorkflow = requests.some((member) => member.byWorkflow);
  const rows = await database.query<Admission>(
    'reserve-tasks',
    `select r.*, case when $2 and r.admitted and r.status in ('queued', 'processing')
                   then (select ${routingJson} from task t where t.id = r.task_id) end as routing
     from reserve_tasks($1, $2, $3) r`,
    [ids, byWorkflow, inFlightPerProjectMax],
  );
  const found = new Map(rows.map((row) => [row.taskId, row]));
  return requests.map(({ taskId }) => found.get(taskId) ?? { taskId, ...unknownTask });
}

const unknownTask = {
  admitted: false,
  refusalCode: 'task_not_found',
  remainingMs: 0,
  status: 'failed',
  routing: null,
} as const;

/** Ends tasks as `finishTask` does, in the transaction of these statements. */
export async function finishTasks(inside: Statements, ends: TaskEnd[]): Promise<Finish[]> {
  const rows = await inside.query<Finish>(
    'finish-tasks',
    'select finished, status, error_code, delivery_id from finish_tasks($1::jsonb)',
    [toMembers(ends)],
  );
  if (rows.length !== ends.length) throw new Error('a task to be finished does not exist');
  return rows;
}

async function finishAttempts(database: Database, ends: AttemptFinish[]): Promise<(Finish | null)[]> {
  const members = ends.map(({ files, ...end }) => ({ ...end, files: files.map(toColumns) }));
  const rows = await database.query<Finish & { ours: boolean }>(
    'finish-attempts',
    'select ours, finished, status, error_code, delivery_id from finish_attempts($1::jsonb)',
    [toMembers(members)],
  );
  return rows.map(({ ours, ...finish }) => (ours ? finish : null));
}
