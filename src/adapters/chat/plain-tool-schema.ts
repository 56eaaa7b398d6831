import { isObject, type JsonObject, type JsonValue } from '../../domain/json.ts';

/** So many parts of a schema are looked into, so that references of a hostile one do not multiply it. */
const partsMax = 256;

/**
 * The schema of a tool as one object. Anthropic and OpenAI refuse a combination of schemas (`anyOf`, `oneOf`, `allOf`) at the top. The
 * properties of all its parts are offered, also of parts that are references or combinations themselves, and the description says which
 * alternatives there are.
 */
export const plainToolSchema = (schema: JsonObject): JsonObject =>
  isCombined(schema) ? new Merging(schema).merged(schema, []) : schema;

const isCombined = (schema: JsonObject): boolean =>
  [schema.anyOf, schema.oneOf, schema.allOf].some((list) => Array.isArray(list));

class Merging {
  readonly #root: JsonObject;
  #remaining = partsMax;

  constructor(root: JsonObject) {
    this.#root = root;
  }

  /** A combination as one object. `open` has the references that led to it. */
  merged({ anyOf, oneOf, allOf, ...own }: JsonObject, open: readonly string[]): JsonObject {
    const parts = (list: JsonValue | undefined): JsonObject[] =>
      (Array.isArray(list) ? list : []).flatMap((part) => (isObject(part) ? [this.#part(part, open)] : []));
    const choices = [parts(anyOf), parts(oneOf)].filter((list) => list.length > 0);
    const every = parts(allOf);
    const required = [
      ...[own, ...every].flatMap(requiredIn),
      ...choices.flatMap(([first = {}, ...others]) =>
        requiredIn(first).filter((name) => others.every((part) => requiredIn(part).includes(name))),
      ),
    ];
    const description = [
      ...[own, ...every].flatMap(({ description: text }) => (typeof text === 'string' ? [text] : [])),
      ...choices.map(
        (list) => `The arguments have one of these sets of properties: ${list.map(outlineOf).join(' or ')}.`,
      ),
    ].join('\n\n');
    const offered = choices.map((list) => together('anyOf', list.map(propertiesIn)));
    return {
      ...own,
      type: 'object',
      properties: together('allOf', [...offered, ...[...every, own].map(propertiesIn)]),
      ...(required.length > 0 && { required: [...new Set(required)] }),
      ...(description !== '' && { description }),
    };
  }

  #part(part: JsonObject, open: readonly string[]): JsonObject {
    this.#remaining -= 1;
    if (this.#remaining < 0) return part;
    const { $ref } = part;
    if (typeof $ref === 'string' && !open.includes($ref)) {
      const definition = definitionOf($ref, this.#root);
      return definition ? this.#part(definition, [...open, $ref]) : part;
    }
    return isCombined(part) ? this.merged(part, open) : part;
  }
}

/** All properties. Of one that several have, the schemas are combined: the last one alone would refuse what the others allow. */
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

/** The definition that a reference of the same schema names. */
function definitionOf(reference: string, { $defs, definitions }: JsonObject): JsonObject | null {
  const [, list, name = ''] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(reference) ?? [];
  const named = list === '$defs' ? $defs : definitions;
  const found = isObject(named) && Object.hasOwn(named, name) ? named[name] : undefined;
  return isObject(found) ? found : null;
}

const outlineOf = (part: JsonObject): string => {
  const names = requiredIn(part);
  return `{${(names.length > 0 ? names : Object.keys(propertiesIn(part))).join(', ')}}`;
};

const propertiesIn = ({ properties }: JsonObject): JsonObject => (isObject(properties) ? properties : {});

const requiredIn = ({ required }: JsonObject): string[] =>
  Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];
