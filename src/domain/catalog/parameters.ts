import type { CatalogEntry, FieldDescriptor } from './catalog.ts';
import { mediaInputKeys, type ParameterValue } from './parameter-value.ts';
import { GatewayError, quoted } from '../errors.ts';
import type { JsonObject } from '../json.ts';
import { didYouMean } from '../nearest.ts';
import { taskOptionKeys } from '../tasks/task-options.ts';
import type { ResolvedInput, TaskType } from '../tasks/task.ts';

export interface ResolveOptions {
  /** Legacy routes ignore tuning parameters that the model lacks. They refuse unsupported media inputs as core routes do. */
  dialect?: 'core' | 'legacy';
  /** The type that the route creates. Without it, any media model is accepted. */
  type?: TaskType;
  /** Checks the text of a media input. Throws `GatewayError('invalid_url')`. */
  checkUrl?: (value: string, param: string) => void;
}

/**
 * Resolves a create request against a catalog entry, defaults included. Exactly the result is priced, stored and sent upstream
 * (spec §2.3, §4.4; rules "Catalog"). Media inputs stay the strings that the client sent. Throws `GatewayError` with `param`
 * for anything that the entry does not accept.
 */
export function resolveMediaRequest(
  entry: CatalogEntry,
  body: Record<string, unknown>,
  { dialect = 'core', type, checkUrl }: ResolveOptions = {},
): { input: ResolvedInput } {
  const { model } = entry;
  if (model.type === 'chat' || (type !== undefined && model.type !== type)) {
    const article = model.type === 'image' ? 'an' : 'a';
    const message = `${model.id} is ${article} ${model.type} model. This route takes ${type ?? 'image and video'} models.`;
    throw new GatewayError('model_type_mismatch', { message, param: 'model' });
  }
  const accepted = acceptedParameters(entry);
  refuseUnsupported(entry, accepted, body, dialect);

  const input: ResolvedInput = { prompt: readPrompt(body) };
  const negativePrompt = model.parameters.negative_prompt === true ? valueIn(body, 'negative_prompt') : undefined;
  if (negativePrompt !== undefined) input.negative_prompt = readPromptText(negativePrompt, 'negative_prompt');
  Object.assign(input, readMediaInputs(entry, body, checkUrl), readTuning(entry, accepted, body));
  return { input };
}

/** Fields of a create request that are not parameters of the model. The service that handles the request reads them. */
export const envelopeKeys: ReadonlySet<string> = new Set(['model', 'callback_url', ...taskOptionKeys]);

/** The tuning parameters that the specification names (§4.4). The name of a vendor's variant field comes from the catalog. */
export const tuningKeys: readonly string[] = ['img_size', 'aspect_ratio', 'duration', 'resolution', 'generate_audio'];

/** Code points in a prompt, and in a negative prompt. */
export const promptCharactersMax = 10_000;

/** The values of one tuning parameter that a model accepts, and its default. */
export type AcceptedParameter = { default?: ParameterValue } & (
  { kind: 'values'; values: readonly ParameterValue[] } | { kind: 'range'; min: number; max: number; step: number }
);

/**
 * Every tuning parameter that a model accepts, in the order of the specification. The top-level array decides which values.
 * Without an array, the descriptor's options decide, or its min, max and step (rules "Catalog").
 */
export function acceptedParameters(entry: CatalogEntry): ReadonlyMap<string, AcceptedParameter> {
  const { parameters } = entry.model;
  const variantField = entry.private.variant_field;
  const fields = new Map((parameters.fields ?? []).map((field) => [field.key, field]));
  const keys = new Set([...tuningKeys, ...(variantField === null ? [] : [variantField]), ...fields.keys()]);
  const accepted = new Map<string, AcceptedParameter>();
  for (const key of keys) {
    if (reservedKeys.has(key)) continue;
    const field = fields.get(key);
    const values = acceptedValues(entry, key, field);
    if (values === undefined) continue;
    accepted.set(key, field?.default === undefined ? values : { ...values, default: field.default });
  }
  return accepted;
}

/** The values that a descriptor offers in a form. They are accepted where the entry has no top-level array. */
export function offeredValues(field: FieldDescriptor): AcceptedParameter {
  if (field.type === 'boolean') return { kind: 'values', values: [true, false] };
  if (field.type === 'enum') return { kind: 'values', values: field.options ?? [] };
  // The loader refuses media descriptors without bounds. If one got here, accepting nothing is safer than accepting everything.
  return { kind: 'range', min: field.min ?? Infinity, max: field.max ?? -Infinity, step: field.step ?? 1 };
}

/** Whether a model accepts this value. The comparison is strict: `"5"` is not `5`. */
export function accepts(accepted: AcceptedParameter, value: unknown): value is ParameterValue {
  if (accepted.kind === 'values') return accepted.values.some((candidate) => candidate === value);
  const { min, max, step } = accepted;
  if (typeof value !== 'number' || !(value >= min && value <= max)) return false;
  return stepValue(min, step, Math.round((value - min) / step)) === value;
}

/** All accepted values; undefined for a range of more than `valuesMax`. A list of values is returned whole. */
export function listValues(accepted: AcceptedParameter, valuesMax = 1_000): ParameterValue[] | undefined {
  if (accepted.kind === 'values') return [...accepted.values];
  const { min, max, step } = accepted;
  if (!(max >= min)) return [];
  const count = Math.floor(Number(((max - min) / step).toFixed(9))) + 1;
  return count > valuesMax ? undefined : Array.from({ length: count }, (_, index) => stepValue(min, step, index));
}

/** The accepted values, worded for an error message. */
export const describeAccepted = (accepted: AcceptedParameter): string =>
  accepted.kind === 'values'
    ? `one of ${accepted.values.map((value) => JSON.stringify(value)).join(', ')}`
    : `a number from ${accepted.min} to ${accepted.max} in steps of ${accepted.step}`;

/** Names that a descriptor cannot use, because they have another meaning in a create request. */
export const reservedKeys: ReadonlySet<string> = new Set([
  ...envelopeKeys,
  ...mediaInputKeys,
  'prompt',
  'negative_prompt',
  'messages',
  'stream',
  'temperature',
  'max_tokens',
]);

function acceptedValues(
  entry: CatalogEntry,
  key: string,
  field: FieldDescriptor | undefined,
): AcceptedParameter | undefined {
  const { parameters } = entry.model;
  if (key === 'generate_audio') {
    return parameters.generate_audio === true ? { kind: 'values', values: [true, false] } : undefined;
  }
  const isArrayKey = tuningKeys.includes(key) || key === entry.private.variant_field;
  const list = isArrayKey && Object.hasOwn(parameters, key) ? parameters[key] : undefined;
  if (Array.isArray(list)) return { kind: 'values', values: list.filter(isParameterValue) };
  return field === undefined ? undefined : offeredValues(field);
}

const isParameterValue = (value: unknown): value is ParameterValue =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';

/** Rounds to ten decimals, because 0.1 + 0.2 is not 0.3. A rounded -0 becomes 0. */
const stepValue = (min: number, step: number, index: number): number => Number((min + index * step).toFixed(10)) + 0;

/** `null` in an optional field is as if absent: official SDKs send it (rules "Chat"). */
const valueIn = (body: Record<string, unknown>, key: string): unknown =>
  Object.hasOwn(body, key) ? (body[key] ?? undefined) : undefined;

function refuseUnsupported(
  entry: CatalogEntry,
  accepted: ReadonlyMap<string, AcceptedParameter>,
  body: Record<string, unknown>,
  dialect: 'core' | 'legacy',
): void {
  const { id } = entry.model;
  const supported = supportedKeys(entry, accepted);
  const mayBeNull = new Set([...optionalKeys, ...tuningKeys, 'variant']);
  for (const [key, value] of Object.entries(body)) {
    if (supported.has(key) || (value === null && mayBeNull.has(key))) continue;
    if (dialect === 'legacy' && !mediaInputKeys.some((input) => input === key) && !resemblesMediaInput(key, value))
      continue;
    // `param` quotes the name too, and both together may quote 100 characters of input.
    const field = key.length > 20 ? 'This field' : `The field ${key}`;
    const message = `${field} is not supported for the model ${id}.${didYouMean(key, supported)}`;
    throw new GatewayError('unsupported_parameter', { message, param: quoted(key) });
  }
}

const optionalKeys = [...mediaInputKeys, 'negative_prompt'] as const;

/** The fields that a create request for this model may have. */
export function supportedKeys(entry: CatalogEntry, accepted = acceptedParameters(entry)): ReadonlySet<string> {
  const keys = new Set([...envelopeKeys, ...accepted.keys(), 'prompt']);
  for (const key of optionalKeys) if (entry.model.parameters[key] === true) keys.add(key);
  if (entry.private.variant_field !== null) keys.add('variant');
  return keys;
}

/** Whether a field that a model does not know would be missed: an input, or a setting that has a price at other models. */
export const wouldBeMissed = (key: string, value: unknown): boolean =>
  [...optionalKeys, ...tuningKeys, 'variant'].includes(key) || resemblesMediaInput(key, value);

/** Legacy routes ignore unknown fields, but dropping a picture silently would sell the wrong video. */
function resemblesMediaInput(key: string, value: unknown): boolean {
  if (!/image|picture|photo|frame|video|audio/i.test(key)) return false;
  const first: unknown = Array.isArray(value) ? value[0] : value;
  return typeof first === 'string' && /^(https?:|data:|file_)/i.test(first);
}

function readPrompt(body: Record<string, unknown>): string {
  const prompt = valueIn(body, 'prompt');
  if (prompt === undefined)
    throw new GatewayError('missing_parameter', { message: 'prompt is required.', param: 'prompt' });
  const text = readPromptText(prompt, 'prompt');
  if (text.trim() === '') throw invalid('prompt', 'prompt must not be blank.');
  return text;
}

function readPromptText(value: unknown, param: string): string {
  if (typeof value !== 'string') throw invalid(param, `${param} must be a string.`);
  // A string of n code points has at most 2n UTF-16 units, so long strings need no exact count.
  if (value.length > 2 * promptCharactersMax || [...value].length > promptCharactersMax) {
    throw invalid(param, `${param} must have at most ${promptCharactersMax} characters.`);
  }
  return value;
}

function readMediaInputs(
  entry: CatalogEntry,
  body: Record<string, unknown>,
  checkUrl: ResolveOptions['checkUrl'],
): JsonObject {
  const inputs: JsonObject = {};
  for (const key of mediaInputKeys) {
    const value = entry.model.parameters[key] === true ? valueIn(body, key) : undefined;
    if (value === undefined) continue;
    if (key === 'reference_images') {
      const images = readReferenceImages(value, entry.private.reference_images_max);
      images.forEach((image) => checkUrl?.(image, key));
      inputs[key] = images;
    } else {
      if (typeof value !== 'string' || value === '') throw invalid(key, `${key} must be a non-empty string.`);
      checkUrl?.(value, key);
      inputs[key] = value;
    }
  }
  return inputs;
}

function readReferenceImages(value: unknown, imagesMax: number): string[] {
  const isImage = (item: unknown): item is string => typeof item === 'string' && item !== '';
  if (!Array.isArray(value) || value.length < 1 || value.length > imagesMax || !value.every(isImage)) {
    throw invalid('reference_images', `reference_images must be an array of 1 to ${imagesMax} non-empty strings.`);
  }
  return value;
}

function readTuning(
  entry: CatalogEntry,
  acceptedByKey: ReadonlyMap<string, AcceptedParameter>,
  body: Record<string, unknown>,
): JsonObject {
  const tuning: JsonObject = {};
  for (const [key, accepted] of acceptedByKey) {
    const { value, param } =
      key === entry.private.variant_field ? requestedVariant(body, key) : { value: valueIn(body, key), param: key };
    if (value === undefined) {
      if (accepted.default !== undefined) tuning[key] = accepted.default;
      continue;
    }
    if (!accepts(accepted, value)) {
      const got =
        typeof value === 'object' ? (Array.isArray(value) ? 'an array' : 'an object') : quoted(JSON.stringify(value));
      throw invalid(param, `${param} must be ${describeAccepted(accepted)}, not ${got}.`);
    }
    tuning[key] = value;
  }
  return tuning;
}

/** Reads the vendor's own field or the neutral `variant`. Two different values are refused (rules "Catalog"). */
function requestedVariant(body: Record<string, unknown>, variantField: string): { value: unknown; param: string } {
  const value = valueIn(body, variantField);
  const neutral = valueIn(body, 'variant');
  if (value === undefined) return { value: neutral, param: 'variant' };
  if (neutral !== undefined && neutral !== value) {
    throw invalid('variant', `variant and ${variantField} are the same setting and must not differ.`);
  }
  return { value, param: variantField };
}

const invalid = (param: string, message: string): GatewayError => new GatewayError('invalid_value', { message, param });
