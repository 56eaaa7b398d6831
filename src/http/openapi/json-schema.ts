import { z } from 'zod';
import type { JsonObject, JsonValue } from '../../domain/json.ts';
import type { NamedSchemas } from '../description.ts';
import { documentedOf, itemOf } from '../request/validate.ts';

/**
 * The JSON Schema of what a client may send. A schema with an id (`.meta({ id })`) goes to `named`, and a reference stands in its
 * place.
 */
export const bodySchema = (schema: z.ZodType, named: NamedSchemas): JsonObject => convert(schema, named);

/** The same for a route that leaves unknown fields out. */
export const tolerantBodySchema = (schema: z.ZodType, named: NamedSchemas): JsonObject =>
  convert(schema, named, openedObject);

/** The JSON Schema of an answer. A later version may add members, so clients must not refuse unknown ones. */
export const answerSchema = (schema: z.ZodType, named: NamedSchemas): JsonObject => convert(schema, named, opened);

function convert(
  schema: z.ZodType,
  named: NamedSchemas,
  change: (schema: JsonObject) => void = () => undefined,
): JsonObject {
  const made = z.toJSONSchema(schema, {
    // What a client sends, before defaults and transforms. Answers have neither.
    io: 'input',
    // A check that is written in code has no JSON Schema.
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      const item = itemOf(zodSchema);
      if (item) jsonSchema.items = convert(item, named, change);
      const variants = documentedOf(zodSchema);
      if (variants.length > 0) jsonSchema.anyOf = variants.map((variant) => convert(variant, named, change));
      change(jsonSchema as JsonObject);
    },
  });
  // zod's result also has members that are not JSON.
  const {
    $schema: _,
    $defs,
    ...own
  } = JSON.parse(JSON.stringify(made).replaceAll('"#/$defs/', componentPrefix)) as {
    $schema?: JsonValue;
    $defs?: Record<string, JsonObject>;
  } & JsonObject;
  for (const [name, definition] of Object.entries($defs ?? {})) {
    // zod numbers recursive schemas in each conversion anew, so that two documents' parts would get one name.
    if (name.startsWith('__')) throw new Error('A recursive schema of the OpenAPI document needs an id.');
    named.set(name, definition);
  }
  return own;
}

const componentPrefix = '"#/components/schemas/';

function openedObject(schema: JsonObject): void {
  if (schema.additionalProperties === false) delete schema.additionalProperties;
}

function opened(schema: JsonObject): void {
  openedObject(schema);
  // The bounds of `z.int()` tell a client nothing, and pages would show them as examples.
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
}
