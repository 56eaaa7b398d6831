import { isObject, type JsonObject, type JsonValue } from '../../../domain/json.ts';
import { camelCase } from '../../request/unknown-fields.ts';
import type { ProviderPart } from '../provider-tools.ts';

/** The fields of a part that tell of code which Gemini itself ran. */
const historyFields = ['executableCode', 'codeExecutionResult', 'toolCall', 'toolResponse'];

/**
 * Removes the tools that Gemini itself runs (`googleSearch`, `codeExecution`, `urlContext`, …) and what earlier answers say of them from a
 * body, and returns where they stood. They are the keys of a tool beside `functionDeclarations`, even if their value is empty.
 */
export function takeProviderTools(body: JsonObject): { tools: ProviderPart[]; history: ProviderPart[] } {
  const tools = objectsIn(body['tools']).flatMap(({ index, object }) =>
    Object.keys(object).flatMap((key) => {
      if (camelCase(key) === 'functionDeclarations' || !isObject(object[key])) return [];
      delete object[key];
      return [{ path: `tools.${index}`, kind: key, param: `tools.${index}.${key}` }];
    }),
  );
  const history = objectsIn(body['contents']).flatMap(({ index, object }) =>
    takeParts(object, `contents.${index}.parts`),
  );
  if (history.length > 0 && Array.isArray(body['contents'])) body['contents'] = body['contents'].filter(hasParts);
  return { tools, history };
}

function takeParts(content: JsonObject, path: string): ProviderPart[] {
  const parts = objectsIn(content['parts']);
  const found = parts.flatMap(({ index, object }) => {
    const kind = Object.keys(object).find((key) => historyFields.includes(camelCase(key)));
    return kind === undefined ? [] : [{ path: `${path}.${index}`, kind, object }];
  });
  if (found.length > 0 && Array.isArray(content['parts'])) {
    const taken = new Set<JsonValue>(found.map(({ object }) => object));
    content['parts'] = content['parts'].filter((part) => !taken.has(part));
  }
  return found.map(({ path: at, kind }) => ({ path: at, kind, param: `${at}.${kind}` }));
}

const hasParts = (content: JsonValue): boolean => {
  const parts = isObject(content) ? content['parts'] : undefined;
  return !Array.isArray(parts) || parts.length > 0;
};

const objectsIn = (list: JsonValue | undefined): { index: number; object: JsonObject }[] =>
  Array.isArray(list) ? list.flatMap((object, index) => (isObject(object) ? [{ index, object }] : [])) : [];
