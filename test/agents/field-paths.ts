import type { JsonObject, JsonValue } from '../../src/domain/json.ts';

/** What is inside of these belongs to the program or to its tools, not to the API. */
const ownData = [
  'parameters',
  'parametersJsonSchema',
  'input_schema',
  'schema',
  'responseJsonSchema',
  'responseSchema',
  'args',
  'response',
  'metadata',
  'client_metadata',
  'labels',
  'input_examples',
];

/**
 * The fields of a request as dotted paths in order, with `*` for an index and each object's `type` in the path of its members
 * (`messages.*.content.*(text).text`).
 */
export function fieldPaths(body: JsonObject): string[] {
  const paths = new Set<string>();
  const walk = (value: JsonValue, at: string): void => {
    if (Array.isArray(value)) for (const one of value) walk(one, `${at}.*`);
    else if (typeof value === 'object' && value !== null) walkObject(value, at);
  };
  const walkObject = (object: JsonObject, at: string): void => {
    const kind = at.endsWith('*') && typeof object['type'] === 'string' ? `(${object['type']})` : '';
    for (const [key, inner] of Object.entries(object)) {
      const path = at === '' ? key : `${at}${kind}.${key}`;
      paths.add(path);
      // The input of a call is the tool's; that of a Responses request is the conversation.
      if (!ownData.includes(key) && !(key === 'input' && at !== '')) walk(inner, path);
    }
  };
  walkObject(body, '');
  return [...paths].sort();
}
