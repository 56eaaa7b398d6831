import { z } from 'zod';

type Schema = Record<string, unknown>;
const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const objectOf = (value: unknown): Schema => (isObject(value) ? value : {});
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

const Document = z.looseObject({
  paths: z.record(z.string(), z.record(z.string(), z.looseObject({ responses: z.record(z.string(), z.unknown()) }))),
  components: z.looseObject({ schemas: z.record(z.string(), z.unknown()) }),
});
type Document = z.infer<typeof Document>;

/**
 * What a client of the document `before` relies on and `after` no longer promises, as sentences. Of requests: whatever was accepted
 * must be accepted. Of answers: whatever was promised must be there. More routes, optional fields, members of answers and refusals
 * are no change in this sense. Alternatives (`oneOf`, `anyOf`) are compared by their position.
 */
export function breakingChanges(before: unknown, after: unknown): string[] {
  const [old, now] = [Document.parse(before), Document.parse(after)];
  return Object.entries(old.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) => {
      const name = `${method.toUpperCase()} ${path}`;
      const other = now.paths[path]?.[method];
      if (!other) return [`${name} is gone`];
      return [
        ...parameterChanges(name, operation, other, old, now),
        ...bodyChanges(name, operation, other, old, now),
        ...answerChanges(name, operation, other, old, now),
      ];
    }),
  );
}

function parameterChanges(name: string, before: Schema, after: Schema, old: Document, now: Document): string[] {
  const keyed = (operation: Schema): Map<string, Schema> =>
    new Map(listOf(operation['parameters']).map((item) => [`${str(item, 'in')} ${str(item, 'name')}`, objectOf(item)]));
  const [left, right] = [keyed(before), keyed(after)];
  const added = [...right].filter(([key, { required }]) => required === true && left.get(key)?.['required'] !== true);
  return [
    ...added.map(([key]) => `${name} now requires the parameter ${key}`),
    ...[...left].flatMap(([key, parameter]) => {
      const other = right.get(key);
      if (!other) return [`${name} no longer takes the parameter ${key}`];
      return schemaChanges(`${name}, parameter ${key}`, parameter['schema'], other['schema'], 'request', old, now);
    }),
  ];
}

function bodyChanges(name: string, before: Schema, after: Schema, old: Document, now: Document): string[] {
  const [left, right] = [before, after].map((operation) => objectOf(objectOf(operation['requestBody'])['content']));
  return contentChanges(`${name}, body`, left ?? {}, right ?? {}, 'request', old, now);
}

function answerChanges(name: string, before: Schema, after: Schema, old: Document, now: Document): string[] {
  return Object.entries(objectOf(before['responses']))
    .filter(([status]) => status.startsWith('2'))
    .flatMap(([status, answer]) => {
      const other = objectOf(after['responses'])[status];
      if (other === undefined) return [`${name} no longer answers ${status}`];
      const [left, right] = [answer, other].map((one) => objectOf(objectOf(one)['content']));
      return contentChanges(`${name}, answer ${status}`, left ?? {}, right ?? {}, 'answer', old, now);
    });
}

type Direction = 'request' | 'answer';

const contentChanges = (
  where: string,
  before: Schema,
  after: Schema,
  direction: Direction,
  old: Document,
  now: Document,
): string[] =>
  Object.entries(before).flatMap(([type, content]) => {
    const other = after[type];
    if (other === undefined) return [`${where} no longer has the type ${type}`];
    return schemaChanges(where, objectOf(content)['schema'], objectOf(other)['schema'], direction, old, now);
  });

function schemaChanges(
  where: string,
  before: unknown,
  after: unknown,
  direction: Direction,
  old: Document,
  now: Document,
): string[] {
  // The schema `false` accepted nothing, so that nothing is lost.
  if (direction === 'request' && before === false) return [];
  const left = resolved(before, old);
  const right = asAlternatives(resolved(after, now), left);
  const deeper = (part: string, one: unknown, other: unknown): string[] =>
    schemaChanges(`${where}.${part}`, one, other, direction, old, now);
  const properties = objectOf(left['properties']);
  return [
    ...valueChanges(where, left, right, direction),
    ...requiredChanges(where, left, right, direction),
    ...Object.entries(properties).flatMap(([key, property]) => {
      const other = objectOf(right['properties'])[key];
      if (other !== undefined) return deeper(key, property, other);
      return direction === 'request' && right['additionalProperties'] !== false ? [] : [`${where}.${key} is gone`];
    }),
    ...(left['items'] !== undefined && right['items'] !== undefined
      ? deeper('items', left['items'], right['items'])
      : []),
    ...['oneOf', 'anyOf', 'allOf'].flatMap((word) =>
      listOf(left[word]).flatMap((one, index) => {
        const other = listOf(right[word])[index];
        return other === undefined ? [`${where} has one ${word} less`] : deeper(`${word}.${index}`, one, other);
      }),
    ),
  ];
}

/** A request must accept every type and value that it did, an answer must not have new ones. */
function valueChanges(where: string, left: Schema, right: Schema, direction: Direction): string[] {
  const [wide, narrow] = direction === 'request' ? [right, left] : [left, right];
  const [wideTypes, narrowTypes] = [typesOf(wide), typesOf(narrow)];
  const [wideValues, narrowValues] = [valuesOf(wide), valuesOf(narrow)];
  const isOther =
    wideTypes.length > 0 && (narrowTypes.length === 0 || narrowTypes.some((one) => !fits(one, wideTypes)));
  // A new word in an answer is not a break: clients are told to expect more of them.
  const isFewer =
    direction === 'request' && wideValues && (!narrowValues || narrowValues.some((one) => !wideValues.includes(one)));
  const bounds =
    direction === 'request'
      ? [
          ...upper.filter((bound) => numberOf(right[bound], Infinity) < numberOf(left[bound], Infinity)),
          ...lower.filter((bound) => numberOf(right[bound], -Infinity) > numberOf(left[bound], -Infinity)),
        ]
      : [];
  return [
    ...(isOther ? [`${where} has another type`] : []),
    ...(isFewer ? [`${where} takes fewer values`] : []),
    ...bounds.map((bound) => `${where} has a stricter ${bound}`),
  ];
}

const upper = ['maximum', 'maxLength', 'maxItems'];
const lower = ['minimum', 'minLength', 'minItems'];

function requiredChanges(where: string, left: Schema, right: Schema, direction: Direction): string[] {
  const [before, after] = [listOf(left['required']), listOf(right['required'])];
  return direction === 'request'
    ? after.filter((key) => !before.includes(key)).map((key) => `${where} now requires ${String(key)}`)
    : before.filter((key) => !after.includes(key)).map((key) => `${where} no longer promises ${String(key)}`);
}

const fits = (type: unknown, types: unknown[]): boolean =>
  types.includes(type) || (type === 'integer' && types.includes('number'));
const typesOf = ({ type }: Schema): unknown[] => (type === undefined ? [] : [type].flat());
/** As JSON, because a value may be a list or an object. */
function valuesOf(schema: Schema): string[] | null {
  const values = schema['const'] !== undefined ? [schema['const']] : schema['enum'];
  return Array.isArray(values) ? values.map((value) => JSON.stringify(value)) : null;
}
const numberOf = (value: unknown, fallback: number): number => (typeof value === 'number' ? value : fallback);
/** A list of types as alternatives, where the earlier schema writes them so: zod writes `boolean | null` either way, by its bounds. */
function asAlternatives(schema: Schema, earlier: Schema): Schema {
  const { type, ...rest } = schema;
  if (earlier['anyOf'] === undefined || !Array.isArray(type)) return schema;
  return { anyOf: type.map((one: unknown) => ({ ...rest, type: one })) };
}

const str = (item: unknown, key: string): string => String(objectOf(item)[key]);

function resolved(schema: unknown, { components }: Document): Schema {
  const found = objectOf(schema);
  const ref = found['$ref'];
  if (typeof ref !== 'string') return found;
  return objectOf(components.schemas[ref.replace('#/components/schemas/', '')]);
}
