import { isObject, type JsonObject, type JsonValue } from '../../domain/json.ts';

/**
 * A JSON Schema as Anthropic's structured outputs take it. They refuse bounds on numbers, lengths and most lists, and need
 * `additionalProperties: false`. A constraint that cannot be sent goes into the description, where the model reads it, as
 * Anthropic's own SDK does (https://platform.claude.com/docs/en/build-with-claude/structured-outputs, read on 2026-11-22).
 */
export function toAnthropicSchema(schema: JsonObject): JsonObject {
  const supported: JsonObject = {};
  const unsent: string[] = [];
  for (const [name, value] of Object.entries(schema)) {
    // `oneOf` becomes `anyOf`, unless the schema already has an `anyOf`.
    const key = name === 'oneOf' && schema.anyOf === undefined ? 'anyOf' : name;
    if (isSupported(key, value)) supported[key] = withSupported(key, value);
    else if (!isLostWithoutHarm(key, value)) unsent.push(`${key}: ${JSON.stringify(value)}`);
  }
  const description = [
    ...(typeof schema.description === 'string' ? [schema.description] : []),
    ...(unsent.length > 0 ? [`{${unsent.join(', ')}}`] : []),
  ].join('\n\n');
  const isOfObjects = [schema.type].flat().includes('object') || schema.properties !== undefined;
  return {
    ...supported,
    ...(description !== '' && { description }),
    ...(isOfObjects && {
      type: schema.type ?? 'object',
      properties: supported.properties ?? {},
      additionalProperties: false,
    }),
  };
}

/** What can be left out: the description is sent separately, and a boolean `additionalProperties` says nothing about members. */
const isLostWithoutHarm = (key: string, value: JsonValue): boolean =>
  key === '$schema' || key === 'description' || (key === 'additionalProperties' && !isObject(value));

const plainKeys: ReadonlySet<string> = new Set(['type', 'title', 'enum', 'const', '$ref', 'required', 'default']);
const formats: ReadonlySet<unknown> = new Set([
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'uri',
  'ipv4',
  'ipv6',
  'uuid',
]);

function isSupported(key: string, value: JsonValue): boolean {
  if (key === 'format') return formats.has(value);
  if (key === 'minItems') return value === 0 || value === 1;
  return plainKeys.has(key) || innerKeys.has(key);
}

const innerKeys: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions', 'items', 'anyOf', 'allOf']);
const namedKeys: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions']);

function withSupported(key: string, value: JsonValue): JsonValue {
  if (!innerKeys.has(key)) return value;
  if (Array.isArray(value)) return value.map(toInner);
  if (!namedKeys.has(key) || !isObject(value)) return toInner(value);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, toInner(inner)]));
}

const toInner = (value: JsonValue): JsonValue => (isObject(value) ? toAnthropicSchema(value) : value);
