import type { JsonObject, JsonValue } from '../json.ts';

/**
 * Translates Gemini's own schema words to JSON Schema: upper-case types become lower-case, and `nullable` becomes a second type. JSON
 * Schema itself stays unchanged (https://ai.google.dev/api/caching#Schema, read 2026-11-21).
 */
export function fromGeminiSchema(schema: JsonObject): JsonObject {
  const { nullable, ...rest } = schema;
  const type = typeof rest.type === 'string' && geminiTypes.has(rest.type) ? rest.type.toLowerCase() : rest.type;
  const withSchemas = Object.fromEntries(Object.entries(rest).map(([word, value]) => [word, inner(word, value)]));
  if (type === undefined) return withSchemas;
  return { ...withSchemas, type: nullable === true && typeof type === 'string' ? [type, 'null'] : type };
}

const geminiTypes: ReadonlySet<string> = new Set(['STRING', 'NUMBER', 'INTEGER', 'BOOLEAN', 'ARRAY', 'OBJECT', 'NULL']);

/** Translates schemas only: an `enum` or `default` that looks like a schema is data. */
function inner(word: string, value: JsonValue): JsonValue {
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
const isObject = (value: JsonValue): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
