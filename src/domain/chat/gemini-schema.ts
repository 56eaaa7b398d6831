import { isObject, type JsonObject, type JsonValue } from '../json.ts';

/**
 * Translates Gemini's own schema words to JSON Schema: upper-case types become lower-case, `nullable` becomes a second type, and limits that
 * are texts, as the types of `@google/genai` 3.1.0 demand, become numbers. JSON Schema itself stays unchanged (https://ai.google.dev/api/caching#Schema, read 2026-11-21).
 */
export function fromGeminiSchema({ nullable, ...words }: JsonObject): JsonObject {
  const schema = Object.fromEntries(Object.entries(words).map(([word, value]) => [word, inner(word, value)]));
  return nullable === true ? orNull(schema) : schema;
}

/** A second type is not enough beside words that exclude null themselves. */
function orNull(schema: JsonObject): JsonObject {
  const { type, anyOf } = schema;
  if (schema.enum !== undefined || schema.$ref !== undefined) return { anyOf: [schema, { type: 'null' }] };
  return {
    ...schema,
    ...(type !== undefined && { type: [...new Set([type, 'null'].flat())] }),
    ...(Array.isArray(anyOf) && { anyOf: [...anyOf, { type: 'null' }] }),
  };
}

const geminiTypes: ReadonlySet<string> = new Set(['STRING', 'NUMBER', 'INTEGER', 'BOOLEAN', 'ARRAY', 'OBJECT', 'NULL']);

/** Whole numbers of 64 bits, which the JSON of Protocol Buffers writes as text. */
const limits = /^(min|max)(Items|Length|Properties)$/;

/** Translates schemas only: an `enum` or `default` that looks like a schema is data. */
function inner(word: string, value: JsonValue): JsonValue {
  if (word === 'type') return typeof value === 'string' && geminiTypes.has(value) ? value.toLowerCase() : value;
  if (limits.test(word)) return typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  if (word === 'properties' || word === '$defs' || word === 'definitions') {
    return isObject(value)
      ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, asSchema(one)]))
      : value;
  }
  if (word === 'items' || word === 'additionalProperties' || word === 'not') return asSchema(value);
  if (word === 'anyOf' || word === 'oneOf' || word === 'allOf' || word === 'prefixItems') {
    return Array.isArray(value) ? value.map(asSchema) : value;
  }
  return value;
}

const asSchema = (value: JsonValue): JsonValue => (isObject(value) ? fromGeminiSchema(value) : value);
