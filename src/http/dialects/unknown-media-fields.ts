import type { z } from 'zod';
import { asksForNothing } from '../../domain/chat/asks-for-nothing.ts';
import type { CatalogEntry } from '../../domain/catalog/catalog.ts';
import { GatewayError, quoted } from '../../domain/errors.ts';
import { isObject, type JsonObject } from '../../domain/json.ts';
import { supportedKeys, wouldBeMissed } from '../../domain/catalog/parameters.ts';
import type { FieldRules } from '../request/unknown-fields.ts';
import { validate } from '../request/validate.ts';
import { readBody, type Reading } from './reading.ts';

/** What a field would change silently if it were left out, and what the client can send instead. */
export type RefusedFields = Readonly<Record<string, string>>;

/** What every reader of a request for pictures or clips tells beside the request. */
export interface MediaLeftOut {
  /** The fields that are left out. Present if and only if the request is tolerant; those that the model does not know come with its entry. */
  leftOut?: string[];
}

/**
 * The fields of a request for pictures or clips without those that its model does not know, whose names are added to `leftOut` (rules "Media
 * tasks"). An input and a setting with a price stay, so that the shared checks refuse them. A strict request, whose `leftOut` is undefined, keeps all.
 * Throws `unsupported_parameter` for a field of `refused`.
 */
export function supportedFields(
  fields: JsonObject,
  entry: CatalogEntry,
  leftOut: string[] | undefined,
  refused: RefusedFields,
): JsonObject {
  if (leftOut === undefined) return fields;
  const supported = supportedKeys(entry);
  const kept = Object.entries(fields).filter(([key, value]) => {
    if (supported.has(key) || wouldBeMissed(key, value)) return true;
    if (asksForNothing(value)) return false;
    if (Object.hasOwn(refused, key)) {
      const message = `The field ${key} is not supported for the model ${entry.model.id}: ${refused[key]}`;
      throw new GatewayError('unsupported_parameter', { param: quoted(key), message });
    }
    leftOut.push(key);
    return false;
  });
  return Object.fromEntries(kept);
}

/**
 * Reads the body of a request for pictures or clips as `readBody` does. The body itself stays as it is, because the fingerprint of its
 * Idempotency-Key is taken later.
 */
export function readMediaBody<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
  rules: FieldRules,
  reading: Reading,
): { parsed: z.output<Schema>; leftOut: string[] | undefined } {
  const copy = copyOf(body);
  if (!isJsonObject(copy)) return { parsed: validate(schema, body), leftOut: undefined };
  // go-openai's forms have `size` and `response_format` always, perhaps empty.
  for (const field of ['size', 'response_format', 'seconds', 'input_reference'])
    if (copy[field] === '') copy[field] = null;
  return readBody(schema, copy, rules, reading);
}

/** A copy whose objects can be changed, without a copy of the texts in it: a picture has megabytes of them. */
function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyOf);
  return isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, copyOf(inner)]))
    : value;
}

/** A body was parsed from JSON. */
const isJsonObject = (value: unknown): value is JsonObject => isObject(value);
