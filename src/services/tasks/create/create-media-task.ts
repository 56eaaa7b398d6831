import { mediaFamilies } from '../../../adapters/registry.ts';
import { CreateFailed, GatewayError } from '../../../domain/errors.ts';
import type { CatalogEntry } from '../../../domain/catalog/catalog.ts';
import type { JsonObject } from '../../../domain/json.ts';
import { notMade } from '../../../domain/tasks/offered-requests.ts';
import { listServing } from '../../../domain/channels/routing.ts';
import { optionsOf } from '../../../domain/tasks/task-options.ts';
import { taskSnapshot, type TaskSnapshot } from '../../../domain/tasks/task-snapshot.ts';
import type { TaskView } from '../../../domain/tasks/task-view.ts';
import type { FileDraft } from '../../../db/files/files.ts';
import type { NewTask } from '../../../db/ledger/ledger.ts';
import { findIdempotent, takeUndelivered } from '../../../db/idempotency.ts';
import { findTask } from '../../../db/tasks/tasks.ts';
import type { Deps } from '../../../deps.ts';
import { crashPoint } from '../../../platform/crash-point.ts';
import { newId } from '../../../platform/crypto/ids.ts';
import { fingerprintOf } from '../../../platform/json-pieces.ts';
import type { StorageGuard } from '../../files/storage-guard.ts';
import { discardFiles } from '../../files/discard-files.ts';
import { creditRefusal } from '../../ledger/credit-refusal.ts';
import { acceptedTask } from './accepted-task.ts';
import { decideUnkeyed } from './decide-unkeyed.ts';
import { resolveCreate, type CreateMediaRequest } from './resolve-create.ts';
import { storeInputs } from './store-inputs.ts';
import { noteUndelivered } from './undelivered.ts';
import type { TaskAdmission, AdmissionVerdict } from './task-admission.ts';
import { withdrawTask } from '../end/withdraw-task.ts';

export interface CreatedMediaTask {
  task: TaskView;
  /** True if the task was created by an earlier request with the same Idempotency-Key. */
  replayed: boolean;
}

/** What a create needs, and quotes and MCP with it. */
export type CreateDeps = Pick<
  Deps,
  'config' | 'db' | 'ledger' | 'catalog' | 'channels' | 'egress' | 'files' | 'urls' | 'workflows' | 'logger' | 'tracer'
> & { admission: TaskAdmission; storage: StorageGuard };

/** Input files are held before the deadline starts to run, and an attempt may read them until the sweep ends its task. */
const inputsOutliveSeconds = 600;

/**
 * Accepts one image or video task, or throws a `GatewayError` with the reason. When this function returns, the credits are held
 * and the task can no longer be lost (rules "Media tasks", points 1 and 2). Throws `CreateFailed` after an
 * internal error: with an Idempotency-Key a retry finds the task, and without one the task never runs, or is named if that is not certain.
 */
export async function createMediaTask(deps: CreateDeps, request: CreateMediaRequest): Promise<CreatedMediaTask> {
  const fingerprint = await fingerprintOf(request.route, request.body);
  // Before validation, so that a replay survives changes of the catalog.
  const earlier = await findReplay(deps, request, fingerprint).catch((error: unknown) => {
    // An earlier request with this key may have been accepted.
    if (error instanceof GatewayError || error instanceof CreateFailed) throw error;
    throw new CreateFailed(request.idempotencyKey === null ? 'no' : 'unknown', { cause: error });
  });
  if (earlier) return earlier;

  const { entry, type, input, credits, options, callbackUrl } = await resolveCreate(deps, request);
  if (options.isDryRun) {
    const message = 'dry_run is not supported on this route.';
    throw new GatewayError('unsupported_parameter', { message, param: 'dry_run' });
  }
  const snapshot = { ...taskSnapshot(entry, input, mediaFamilies), credits };
  await assertSomeChannel(deps, entry, input, snapshot);
  await deps.admission.assertNotOverloaded(options.deadlineSeconds);
  await deps.storage.assertCapacity(request.key.projectId, 'result');

  const taskId = newId('task');
  const stored = await storeInputs(deps, {
    taskId,
    projectId: request.key.projectId,
    input,
    heldSeconds: options.deadlineSeconds + inputsOutliveSeconds,
  });
  const { route, idempotencyKey: key } = request;
  const task: NewTask = {
    taskId,
    projectId: request.key.projectId,
    keyId: request.key.keyId,
    requestId: request.requestId,
    dialect: request.dialect,
    type,
    modelId: entry.model.id,
    input: stored.input,
    snapshot,
    credits,
    callbackUrl,
    ...optionsOf(options),
    idempotency: key === null ? null : { route, key, fingerprint, keptSeconds: deps.config.idempotency.keptSeconds },
    traceParent: deps.tracer.traceparent(),
  };
  try {
    return await acceptTask(deps, task, stored.files);
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    if (request.idempotencyKey !== null) throw new CreateFailed('unknown', { cause: error });
    withdrawTask(deps, taskId);
    // Only this API server may have the credits of a row without an Idempotency-Key reserved, and it has not begun to.
    throw error instanceof CreateFailed ? error : new CreateFailed('no', { cause: error });
  }
}

/** Writes the task's row, after which the task cannot be lost, and gets the verdict about its credits. */
async function acceptTask(deps: CreateDeps, task: NewTask, files: FileDraft[]): Promise<CreatedMediaTask> {
  const { taskId, projectId, type, modelId, input } = task;
  const verdict = await deps.ledger.createTask(task);
  if (verdict.kind !== 'created') await discardFiles(deps, files);
  switch (verdict.kind) {
    case 'reused':
      throw new GatewayError('idempotency_key_reused');
    case 'refused':
      throw await creditRefusal(deps, { code: verdict.code, key: task, credits: task.credits });
    case 'replay':
      return replay(deps, verdict.taskId);
    case 'created':
      break;
  }
  crashPoint('after_commit_before_start');
  const admit = () => deps.admission.admit({ taskId, projectId, type, modelId, input });
  const admission = await (task.idempotency === null ? decideUnkeyed(deps, taskId, admit) : admit());
  if (!admission.admitted) {
    await discardFiles(deps, files);
    throw await refusal(deps, admission, task);
  }
  crashPoint('after_start_before_reply');
  return { task: acceptedTask(task, verdict.createdAt), replayed: false };
}

async function findReplay(
  deps: CreateDeps,
  request: CreateMediaRequest,
  fingerprint: string,
): Promise<CreatedMediaTask | null> {
  const { route, idempotencyKey: key, takesUndelivered } = request;
  const { projectId } = request.key;
  if (key === null) {
    const undelivered = takesUndelivered ? await takeUndelivered(deps.db, { ...request.key, fingerprint }) : null;
    return undelivered && takeOver(deps, request, undelivered.taskId);
  }
  const earlier = await findIdempotent(deps.db, { projectId, route, key });
  if (!earlier?.taskId) return null;
  if (earlier.fingerprint !== fingerprint) throw new GatewayError('idempotency_key_reused');
  return replay(deps, earlier.taskId);
}

/** The row is gone, so an error from here on must not promise that nothing was bought. */
const takeOver = (deps: CreateDeps, request: CreateMediaRequest, taskId: string): Promise<CreatedMediaTask> =>
  replay(deps, taskId).catch(async (cause: unknown) => {
    await noteUndelivered(deps, request, taskId);
    throw new CreateFailed('unknown', { cause, taskId });
  });

/** The first request with this key may still be waiting for its verdict. `reserveTask` returns the same verdict to both. */
async function replay(deps: CreateDeps, taskId: string): Promise<CreatedMediaTask> {
  const admission = await deps.ledger.reserveTask(taskId, false);
  if (!admission.admitted) {
    throw new GatewayError(admission.refusalCode ?? 'service_unavailable', { retryAfterSeconds: waitAfter(admission) });
  }
  const task = await readTask(deps, taskId);
  if (task.isDeleted) throw new GatewayError('idempotency_result_gone');
  return { task, replayed: true };
}

const refusal = (deps: CreateDeps, verdict: AdmissionVerdict, task: NewTask): Promise<GatewayError> =>
  creditRefusal(deps, {
    code: verdict.refusalCode ?? 'service_unavailable',
    key: task,
    credits: task.credits,
    retryAfterSeconds: waitAfter(verdict),
  });

const waitAfter = ({ refusalCode }: AdmissionVerdict): number | undefined =>
  refusalCode === 'concurrency_limit_exceeded' ? 5 : undefined;

async function readTask(deps: Pick<Deps, 'db'>, taskId: string): Promise<TaskView> {
  const task = await findTask(deps.db, taskId);
  if (!task) throw new Error(`the admitted task ${taskId} was not found`);
  return task;
}

/**
 * Refuses a task that no channel can take: 400 if the model's channels do not make what it asks for, and 503 if there are none. The
 * workflow waits for a tripped or cooling channel (rules "No channel").
 */
async function assertSomeChannel(
  deps: CreateDeps,
  entry: CatalogEntry,
  input: JsonObject,
  { groups, upstream }: TaskSnapshot,
): Promise<void> {
  const { model, private: hidden } = entry;
  const { channels, nowMs } = await deps.channels.list();
  const servingBy = (mappings: object) =>
    listServing(channels, {
      modelId: model.id,
      groups,
      families: Object.keys(mappings),
      attemptedIds: new Set<string>(),
      nowMs,
    });
  if (servingBy(upstream).length > 0) return;
  const [other] = servingBy(hidden.upstream);
  throw other
    ? notMade(entry, other.adapter, input, mediaFamilies)
    : new GatewayError('no_channel_available', { retryAfterSeconds: 30 });
}
