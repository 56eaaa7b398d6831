import type { JsonObject, JsonValue } from './json.ts';

/**
 * Gemini's own schema words as JSON Schema: upper-case types become lower-case, `nullable` a second type. What is JSON
 * Schema already stays as it is (https://ai.google.dev/api/caching#Schema, read 2026-11-21).
 */
export const fromGeminiSchema = (schema: JsonObject): JsonObject => translated(schema);

function translated(schema: JsonObject): JsonObject {
  const { nullable, ...rest } = schema;
  const type = typeof rest.type === 'string' && geminiTypes.has(rest.type) ? rest.type.toLowerCase() : rest.type;
  const withSchemas = Object.fromEntries(Object.entries(rest).map(([word, value]) => [word, inner(word, value)]));
  if (type === undefined) return withSchemas;
  return { ...withSchemas, type: nullable === true && typeof type === 'string' ? [type, 'null'] : type };
}

const geminiTypes: ReadonlySet<string> = new Set(['STRING', 'NUMBER', 'INTEGER', 'BOOLEAN', 'ARRAY', 'OBJECT', 'NULL']);

/** Only where a schema stands: an `enum` or `default` that looks like one is data. */
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

const asSchema = (value: JsonValue): JsonValue => (isObject(value) ? translated(value) : value);
const isObject = (value: JsonValue): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
