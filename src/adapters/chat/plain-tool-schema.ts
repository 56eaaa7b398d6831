import { isObject, type JsonObject, type JsonValue } from '../../domain/json.ts';

const combinations = ['anyOf', 'oneOf', 'allOf'] as const;

/**
 * The schema of a tool as one object. Anthropic and OpenAI refuse a combination of schemas at the top. The properties of all its parts are
 * offered, and the description says which alternatives there are. A part may be a reference to a definition. Combinations inside a part
 * are not offered: references that lead to others could multiply a hostile schema.
 */
export function plainToolSchema(schema: JsonObject): JsonObject {
  if (!combinations.some((key) => Array.isArray(schema[key]))) return schema;
  const { anyOf, oneOf, allOf, ...own } = schema;
  // Each part once: thousands of references to one large definition would be read as often.
  const parts = (list: JsonValue | undefined): JsonObject[] => [
    ...new Set((Array.isArray(list) ? list : []).flatMap((part) => (isObject(part) ? [resolved(part, schema)] : []))),
  ];
  const choices = [parts(anyOf), parts(oneOf)].filter((list) => list.length > 0);
  const every = parts(allOf);
  const required = [...[own, ...every].flatMap(requiredIn), ...choices.flatMap(requiredInEach)];
  const descriptionText = [
    ...(typeof own.description === 'string' ? [own.description] : []),
    ...choices.map(
      (list) => `The arguments have one of these sets of properties: ${list.map(outlineOf).join(' or ')}.`,
    ),
  ].join('\n\n');
  const offered = together('anyOf', choices.flat().map(propertiesIn));
  const constraints = [...choices.map(propertiesOfEach), ...[...every, own].map(propertiesIn)];
  return {
    ...own,
    type: 'object',
    properties: { ...offered, ...together('allOf', constraints) },
    ...(required.length > 0 && { required: [...new Set(required)] }),
    ...(descriptionText !== '' && { description: descriptionText }),
  };
}

/** All properties. If several parts define one, its schemas are combined: the last one alone would refuse what the others allow. */
function together(combination: 'anyOf' | 'allOf', all: readonly JsonObject[]): JsonObject {
  const byName = new Map<string, Map<string, JsonValue>>();
  for (const [name, schema] of all.flatMap((properties) => Object.entries(properties))) {
    const schemas = byName.get(name) ?? new Map<string, JsonValue>();
    byName.set(name, schemas.set(JSON.stringify(schema), schema));
  }
  return Object.fromEntries(
    [...byName].map(([name, schemas]): [string, JsonValue] => {
      const [first = {}, ...others] = schemas.values();
      return [name, others.length === 0 ? first : { [combination]: [first, ...others] }];
    }),
  );
}

/** The properties that each alternative has. One that only some have is free in the others, so it constrains nothing. */
const propertiesOfEach = (choice: readonly JsonObject[]): JsonObject => {
  const all = choice.map(propertiesIn);
  const entries = Object.entries(together('anyOf', all));
  return Object.fromEntries(entries.filter(([name]) => all.every((properties) => Object.hasOwn(properties, name))));
};

/** A reference to a definition of the same schema, as the definition. */
function resolved(part: JsonObject, { $defs, definitions }: JsonObject): JsonObject {
  const reference = typeof part.$ref === 'string' ? part.$ref : '';
  const [, list, name = ''] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(reference) ?? [];
  const named = list === '$defs' ? $defs : definitions;
  const found = isObject(named) && Object.hasOwn(named, name) ? named[name] : undefined;
  return isObject(found) ? found : part;
}

const outlineOf = (part: JsonObject): string => {
  const names = requiredIn(part);
  return `{${(names.length > 0 ? names : Object.keys(propertiesIn(part))).join(', ')}}`;
};

const propertiesIn = ({ properties }: JsonObject): JsonObject => (isObject(properties) ? properties : {});

const requiredIn = ({ required }: JsonObject): string[] =>
  Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];

const requiredInEach = (choice: readonly JsonObject[]): string[] => {
  const [first = new Set<string>(), ...others] = choice.map((part) => new Set(requiredIn(part)));
  return [...first].filter((name) => others.every((names) => names.has(name)));
};
