import { z } from 'zod';
import { asksForNothing } from '../../domain/chat/asks-for-nothing.ts';
import { GatewayError } from '../../domain/errors.ts';
import { isObject, type JsonObject } from '../../domain/json.ts';
import { itemOf, variantOf } from './validate.ts';

/** What a dialect says about fields that its schema does not know. Patterns are dotted paths with `*` for an index. */
export interface FieldRules {
  /**
   * Fields that would silently change the price or the meaning of the answer, and what the client can send instead. They stay refused with
   * `unsupported_parameter`, unless their value asks for nothing.
   */
  refused: Readonly<Record<string, string>>;
}

/**
 * Removes the fields that `schema` does not know from `body`, at any depth, and returns their dotted paths. A field whose value asks for
 * nothing is removed without a word. Throws `unsupported_parameter` for a field that the rules refuse. Changes `body` in place, because it was
 * parsed for this request only; the schema checks the rest.
 */
export function removeUnknownFields(schema: z.ZodType, body: JsonObject, rules: FieldRules): string[] {
  const removed: string[] = [];
  const walk = (declaredSchema: z.core.$ZodType, value: unknown, path: readonly string[]): void => {
    const part = schemaFor(declaredSchema, value);
    if (Array.isArray(value)) {
      const item = part && elementOf(part);
      if (item) for (const [index, inner] of value.entries()) walk(item, inner, [...path, String(index)]);
    } else if (part instanceof z.ZodObject && isObject(value)) {
      walkObject(part, value, path);
    }
  };
  const walkObject = (objectSchema: z.ZodObject, value: Record<string, unknown>, path: readonly string[]): void => {
    for (const [key, inner] of Object.entries(value)) {
      const at = [...path, key];
      const field = fieldOf(objectSchema, key);
      if (field) walk(field, inner, at);
      else if (!takesAny(objectSchema)) {
        checkMayBeIgnored(inner, at, rules);
        if (!asksForNothing(inner)) removed.push(at.join('.'));
        delete value[key];
      }
    }
  };
  walk(schema, body, []);
  return removed;
}

function checkMayBeIgnored(value: unknown, path: readonly string[], { refused }: FieldRules): void {
  const pattern = path.map((part) => (/^\d+$/.test(part) ? '*' : part)).join('.');
  if (!Object.hasOwn(refused, pattern) || asksForNothing(value)) return;
  throw new GatewayError('unsupported_parameter', {
    param: path.join('.').slice(0, 100),
    ...(refused[pattern] !== undefined && { message: refused[pattern] }),
  });
}

/** Objects whose fields may also come in snake_case. */
const snakeCased = new WeakSet<z.core.$ZodType>();

/** Notes that the fields of `object` may also come in snake_case, as Google's clients send them. */
export const markSnakeCased = (object: z.core.$ZodType): void => void snakeCased.add(object);

export const camelCase = (key: string): string =>
  key.replace(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase());

function fieldOf(objectSchema: z.ZodObject, key: string): z.core.$ZodType | undefined {
  const shape: Record<string, z.core.$ZodType> = objectSchema.shape;
  if (Object.hasOwn(shape, key)) return shape[key];
  const name = snakeCased.has(objectSchema) ? camelCase(key) : key;
  return Object.hasOwn(shape, name) ? shape[name] : undefined;
}

/** Whether the schema itself accepts unknown fields, about which the dialect decides later. */
const takesAny = ({ def }: z.ZodObject): boolean => def.catchall !== undefined && !(def.catchall instanceof z.ZodNever);

/** The part of a schema that describes this value: the object or the list inside optional, piped and alternative schemas. */
function schemaFor(schema: z.core.$ZodType, value: unknown): z.core.$ZodType | undefined {
  const chosen = variantOf(schema, value);
  if (chosen) return schemaFor(chosen, value);
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return schemaFor(schema.def.innerType, value);
  if (schema instanceof z.ZodPipe) {
    const { in: first, out } = schema.def;
    return schemaFor(first instanceof z.ZodTransform ? out : first, value);
  }
  if (schema instanceof z.ZodUnion) return alternativeFor(schema, value);
  return takesKind(schema, value) ? schema : undefined;
}

function alternativeFor({ def, options }: z.ZodUnion, value: unknown): z.core.$ZodType | undefined {
  const discriminator = 'discriminator' in def && typeof def.discriminator === 'string' ? def.discriminator : undefined;
  if (discriminator === undefined) return options.map((option) => schemaFor(option, value)).find(Boolean);
  if (!isObject(value)) return undefined;
  const named = options.find((option) => option._zod.propValues?.[discriminator]?.has(value[discriminator] as string));
  return named && schemaFor(named, value);
}

const takesKind = (schema: z.core.$ZodType, value: unknown): boolean =>
  Array.isArray(value) ? schema instanceof z.ZodArray : schema instanceof z.ZodObject && isObject(value);

const elementOf = (list: z.core.$ZodType): z.core.$ZodType | undefined =>
  itemOf(list) ?? (list instanceof z.ZodArray ? list.element : undefined);
