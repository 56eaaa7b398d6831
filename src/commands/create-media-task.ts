import { canonicalJson } from '../domain/canonical-json.ts';
import type { CatalogEntry } from '../domain/catalog.ts';
import { GatewayError } from '../domain/errors.ts';
import type { JsonObject } from '../domain/json.ts';
import { resolveMediaRequest } from '../domain/parameters.ts';
import { mediaCredits } from '../domain/pricing.ts';
import { listServing } from '../domain/routing.ts';
import { taskSnapshot } from '../domain/task-snapshot.ts';
import type { TaskType } from '../domain/task.ts';
import type { Admission } from '../db/ledger.ts';
import { removeFile } from '../db/files.ts';
import { findIdempotent } from '../db/idempotency.ts';
import { findTask, type TaskView } from '../db/tasks.ts';
import type { Deps } from '../deps.ts';
import { EgressRefusal } from '../platform/egress.ts';
import { sha256Hex } from '../platform/hash.ts';
import { newId } from '../platform/ids.ts';
import { findModelFor } from './find-model.ts';
import { storeDataUris, type StoredInput } from './store-inputs.ts';
import type { AdmissionDesk } from './admission-desk.ts';

export interface CreateMediaRequest {
  requestId: string;
  key: { keyId: string; projectId: string; models: string[] | null };
  face: 'openai' | 'legacy';
  type: TaskType;
  /** The route's template: part of the idempotency key's scope and of the fingerprint. */
  route: string;
  idempotencyKey: string | null;
  body: JsonObject;
}

export interface CreatedMediaTask {
  task: TaskView;
  /** The answer to an Idempotency-Key that was used before. */
  replayed: boolean;
}

type CreateDeps = Pick<
  Deps,
  'config' | 'db' | 'ledger' | 'catalog' | 'channels' | 'egress' | 'files' | 'workflows' | 'logger'
> & { desk: AdmissionDesk };

/**
 * Accepts one image or video task, or throws the `GatewayError` that says why not. When it returns, the credits are held
 * and the task can no longer be lost (design "The media workflow", points 1 and 2).
 */
export async function createMediaTask(deps: CreateDeps, request: CreateMediaRequest): Promise<CreatedMediaTask> {
  const fingerprint = sha256Hex(canonicalJson({ method: 'POST', path: request.route, body: request.body }));
  // Before validation, so that a replay survives changes of the catalog.
  const earlier = await findReplay(deps, request, fingerprint);
  if (earlier) return earlier;

  const entry = await findModelFor(deps, request.body.model, request.key);
  const callbackUrl = readCallbackUrl(deps, request.body.callback_url);
  const { input } = resolveMediaRequest(entry, request.body, {
    face: request.face === 'legacy' ? 'legacy' : 'core',
    type: request.type,
    checkUrl: (value, param) => checkInputUrl(deps, value, param),
  });
  const credits = mediaCredits(entry.model, input);
  await assertSomeChannel(deps, entry);
  await deps.desk.assertNotOverloaded();

  const taskId = newId('task');
  const stored = await storeDataUris(deps, { taskId, projectId: request.key.projectId, input });
  const verdict = await deps.ledger.createTask({
    taskId,
    projectId: request.key.projectId,
    keyId: request.key.keyId,
    requestId: request.requestId,
    face: request.face,
    type: request.type,
    modelId: entry.model.id,
    input: stored.input,
    snapshot: taskSnapshot(entry),
    credits,
    callbackUrl,
    deadlineSeconds: request.type === 'image' ? deps.config.IMAGE_DEADLINE_SECONDS : deps.config.VIDEO_DEADLINE_SECONDS,
    idempotency:
      request.idempotencyKey === null
        ? null
        : {
            route: request.route,
            key: request.idempotencyKey,
            fingerprint,
            keptSeconds: deps.config.IDEMPOTENCY_SECONDS,
          },
  });
  if (verdict.kind !== 'created') await forgetInputs(deps, stored.files);
  switch (verdict.kind) {
    case 'reused':
      throw new GatewayError('idempotency_key_reused');
    case 'refused':
      throw new GatewayError(verdict.code);
    case 'replay':
      return replay(deps, verdict.taskId);
    case 'created':
      break;
  }
  const admission = await deps.desk.admit({
    taskId,
    projectId: request.key.projectId,
    type: request.type,
    modelId: entry.model.id,
    input: stored.input,
  });
  if (!admission.admitted) {
    await forgetInputs(deps, stored.files);
    throw refusal(admission);
  }
  return { task: await readTask(deps, taskId), replayed: false };
}

async function findReplay(
  deps: CreateDeps,
  request: CreateMediaRequest,
  fingerprint: string,
): Promise<CreatedMediaTask | null> {
  if (request.idempotencyKey === null) return null;
  const earlier = await findIdempotent(deps.db, {
    projectId: request.key.projectId,
    route: request.route,
    key: request.idempotencyKey,
  });
  if (!earlier?.taskId) return null;
  if (earlier.fingerprint !== fingerprint) throw new GatewayError('idempotency_key_reused');
  return replay(deps, earlier.taskId);
}

/** The first request with this key may still wait for its verdict: asking for it again answers the same one. */
async function replay(deps: CreateDeps, taskId: string): Promise<CreatedMediaTask> {
  const admission = await deps.ledger.reserveTask(taskId, false);
  if (!admission.admitted) throw refusal(admission);
  return { task: await readTask(deps, taskId), replayed: true };
}

const refusal = ({ refusalCode }: Admission): GatewayError =>
  refusalCode === 'concurrency_limit_exceeded'
    ? new GatewayError(refusalCode, { retryAfterSeconds: 5 })
    : new GatewayError(refusalCode ?? 'service_unavailable', { retryAfterSeconds: 1 });

async function readTask(deps: Pick<Deps, 'db'>, taskId: string): Promise<TaskView> {
  const task = await findTask(deps.db, taskId);
  if (!task) throw new Error(`task ${taskId} was admitted and is not there`);
  return task;
}

function readCallbackUrl({ egress }: Pick<Deps, 'egress'>, value: unknown): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== 'string') throw new GatewayError('invalid_callback_url', { param: 'callback_url' });
  try {
    return egress.checkUrl(value, { purpose: 'callback' });
  } catch (error) {
    if (!(error instanceof EgressRefusal)) throw error;
    throw new GatewayError('invalid_callback_url', { message: error.message, param: 'callback_url', cause: error });
  }
}

function checkInputUrl({ egress }: Pick<Deps, 'egress'>, value: string, param: string): void {
  if (value.startsWith('data:') || /^file_[0-9a-z]{26}$/.test(value)) return;
  try {
    egress.checkUrl(value, { purpose: 'input' });
  } catch (error) {
    if (!(error instanceof EgressRefusal)) throw error;
    throw new GatewayError('invalid_url', { message: `${param}: ${error.message}`, param, cause: error });
  }
}

/** 503 only if nothing could ever serve the model; open or resting channels are the workflow's patience (design "No channel"). */
async function assertSomeChannel(deps: CreateDeps, entry: CatalogEntry): Promise<void> {
  const { channels, nowMs } = await deps.channels.look();
  const serving = listServing(channels, {
    modelId: entry.model.id,
    groups: entry.private.groups,
    families: Object.keys(entry.private.upstream),
    tried: new Set(),
    nowMs,
  });
  if (serving.length === 0) throw new GatewayError('no_channel_available', { retryAfterSeconds: 30 });
}

/** A task that was not accepted leaves nothing behind. */
async function forgetInputs({ db, files, logger }: CreateDeps, stored: StoredInput[]): Promise<void> {
  for (const { fileId, storageKey } of stored) {
    try {
      await files.delete(storageKey);
      await removeFile(db, fileId);
    } catch (error) {
      logger.warn({ err: error, file_id: fileId }, 'an unused input stays until retention');
    }
  }
}
