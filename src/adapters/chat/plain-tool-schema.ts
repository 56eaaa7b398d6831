import type { JsonObject, JsonValue } from '../../domain/json.ts';

const combinations = ['anyOf', 'oneOf', 'allOf'] as const;

/**
 * The schema of a tool as one object. Anthropic and OpenAI refuse a choice of schemas at the top. The properties of all alternatives are offered,
 * and the description says which of them belong together.
 */
export function plainToolSchema(schema: JsonObject): JsonObject {
  if (!combinations.some((key) => Array.isArray(schema[key]))) return schema;
  const { anyOf, oneOf, allOf, ...own } = schema;
  const parts = (list: JsonValue | undefined): JsonObject[] =>
    (Array.isArray(list) ? list : []).filter(isObject).map((part) => resolved(part, schema));
  const choices = [parts(anyOf), parts(oneOf)].filter((list) => list.length > 0);
  const every = parts(allOf);
  const required = [
    ...namesIn(own.required),
    ...every.flatMap((part) => namesIn(part.required)),
    ...choices.flatMap(([first, ...others]) =>
      namesIn(first?.required).filter((name) => others.every((part) => namesIn(part.required).includes(name))),
    ),
  ];
  const properties = Object.fromEntries(
    [...choices.flat(), ...every, own].flatMap((part) =>
      Object.entries(isObject(part.properties) ? part.properties : {}),
    ),
  );
  const descriptionText = [
    ...(typeof own.description === 'string' ? [own.description] : []),
    ...choices.map(
      (list) => `The arguments have one of these sets of properties: ${list.map(outlineOf).join(' or ')}.`,
    ),
  ].join('\n\n');
  return {
    ...own,
    type: 'object',
    properties,
    ...(required.length > 0 && { required: [...new Set(required)] }),
    ...(descriptionText !== '' && { description: descriptionText }),
  };
}

/** A reference to a definition of the same schema, as the definition. */
function resolved(part: JsonObject, { $defs, definitions }: JsonObject): JsonObject {
  const match = typeof part.$ref === 'string' ? /^#\/(\$defs|definitions)\/([^/]+)$/.exec(part.$ref) : null;
  const named = match?.[1] === '$defs' ? $defs : definitions;
  const found =
    match?.[2] !== undefined && isObject(named) && Object.hasOwn(named, match[2]) ? named[match[2]] : undefined;
  return isObject(found) ? found : part;
}

const outlineOf = ({ properties, required }: JsonObject): string => {
  const names = namesIn(required);
  const listed = names.length > 0 ? names : Object.keys(isObject(properties) ? properties : {});
  return `{${listed.join(', ')}}`;
};

const namesIn = (value: JsonValue | undefined): string[] =>
  Array.isArray(value) ? value.filter((name) => typeof name === 'string') : [];

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
