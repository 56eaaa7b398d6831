import { mediaFamilies } from '../../../adapters/registry.ts';
import { GatewayError } from '../../../domain/errors.ts';
import type { CatalogEntry } from '../../../domain/catalog/catalog.ts';
import type { JsonObject } from '../../../domain/json.ts';
import { assertMade } from '../../../domain/tasks/offered-requests.ts';
import { resolveMediaRequest } from '../../../domain/catalog/parameters.ts';
import { mediaCredits } from '../../../domain/ledger/pricing.ts';
import { readTaskOptions, type CreateOptions } from '../../../domain/tasks/task-options.ts';
import type { ResolvedInput, TaskType } from '../../../domain/tasks/task.ts';
import type { Deps } from '../../../deps.ts';
import { EgressRefusal } from '../../../platform/egress/check-url.ts';
import { findModelFor, type CallerOfModels, type NoteModel } from '../../catalog/find-model.ts';
import { findLegacyModelFor } from '../../catalog/legacy-model.ts';
import { checkInputUrl } from '../../files/check-input-url.ts';
import { fileIdIn } from './store-inputs.ts';

type ResolveDeps = Pick<Deps, 'config' | 'catalog' | 'egress' | 'urls'>;

export interface CreateMediaRequest {
  requestId: string;
  key: { keyId: string; projectId: string } & CallerOfModels;
  dialect: 'openai' | 'legacy' | 'gemini';
  /** The type that the route creates; if absent, the model's own type. */
  type?: TaskType;
  /** The route's path template: part of the idempotency key's scope and of the fingerprint. */
  route: string;
  idempotencyKey: string | null;
  /** Whether, without a key, the request takes over the task of an equal one that was not delivered. */
  takesUndelivered?: boolean;
  body: JsonObject;
  /** Whether `model` may be an alias of an image or video model. Legacy routes take them anyway. */
  allAliases?: boolean;
  noteModel?: NoteModel;
  /** Translates the body of another dialect to the fields of the core routes. `preset`: the parameters of an alias, if any. */
  coreBody?: (entry: CatalogEntry, preset: JsonObject) => JsonObject;
}

/** A create request after all checks that need nothing but the catalog. */
export interface ResolvedCreate {
  entry: CatalogEntry;
  type: TaskType;
  /** Media inputs are the strings that the client sent. */
  input: ResolvedInput;
  /** The price of the task, which a quote and the task share. */
  credits: number;
  options: CreateOptions;
  callbackUrl: string | null;
}

/** Checks and prices a create request. Throws a `GatewayError` for what is not accepted, also for a price above `max_credits`. */
export async function resolveCreate(deps: ResolveDeps, request: CreateMediaRequest): Promise<ResolvedCreate> {
  const { entry, preset } = await findEntry(deps, request);
  const body = request.coreBody?.(entry, preset) ?? request.body;
  const callbackUrl = readCallbackUrl(deps, body.callback_url);
  const { input } = resolveMediaRequest(entry, body, {
    dialect: request.dialect === 'legacy' ? 'legacy' : 'core',
    ...(request.type !== undefined && { type: request.type }),
    checkUrl: (value, param) => checkInput(deps, value, param),
  });
  // `resolveMediaRequest` has refused chat models.
  const type: TaskType = entry.model.type === 'video' ? 'video' : 'image';
  const { imageDeadlineSeconds, videoDeadlineSeconds } = deps.config.tasks;
  const options = readTaskOptions(body, type === 'image' ? imageDeadlineSeconds : videoDeadlineSeconds);
  assertMade(entry, input, mediaFamilies);
  const credits = mediaCredits(entry.model, input);
  if (options.maxCredits !== null && credits > options.maxCredits) {
    const message = `This request costs ${credits} credits, and max_credits is ${options.maxCredits}.`;
    throw new GatewayError('max_credits_exceeded', { message, param: 'max_credits' });
  }
  return { entry, type, input, credits, options, callbackUrl };
}

/** Legacy routes, and those for SDKs of other vendors, accept the aliases of image and video models (rules "Legacy"). */
const findEntry = async (
  deps: ResolveDeps,
  { dialect, body, key, noteModel, allAliases = dialect === 'legacy' }: CreateMediaRequest,
): Promise<{ entry: CatalogEntry; preset: JsonObject }> =>
  allAliases
    ? findLegacyModelFor(deps, body.model, key, noteModel)
    : { entry: await findModelFor(deps, body.model, key, { noteModel }), preset: {} };

function readCallbackUrl({ egress }: Pick<Deps, 'egress'>, value: unknown): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== 'string') throw new GatewayError('invalid_callback_url', { param: 'callback_url' });
  try {
    return egress.checkUrl(value, { purpose: 'callback' });
  } catch (error) {
    if (!(error instanceof EgressRefusal)) throw error;
    const message = `callback_url ${error.message}.`;
    throw new GatewayError('invalid_callback_url', { message, param: 'callback_url', cause: error });
  }
}

function checkInput(deps: Pick<Deps, 'egress' | 'urls'>, value: string, param: string): void {
  if (value.startsWith('data:') || fileIdIn(deps, value) !== null) return;
  checkInputUrl(deps, value, param);
}
