import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript';
import { format } from 'prettier';
import type { JsonObject, JsonValue } from '../../src/domain/json.ts';

/** What `tollgate-js` calls. */
const clientPaths = [
  '/api/v1/images/generate',
  '/api/v1/video/generate',
  '/api/v1/tasks/{task_id}',
  '/api/v1/tasks/{task_id}/events',
  '/api/v1/tasks/{task_id}/cancel',
];

/** The types of `packages/tollgate-js`, made from the document's part that the client uses. */
export async function clientTypes(document: JsonObject): Promise<string> {
  const types = astToString(await openapiTS(partOf(document) as unknown as OpenAPI3));
  const text = `// Written by \`npm run docs:api\` from the OpenAPI document.\n${types}`;
  return format(text, { parser: 'typescript', printWidth: 120, singleQuote: true });
}

/** The document with the client's paths and the schemas that these refer to, without the refusals, which the client reads itself. */
function partOf(document: JsonObject): JsonObject {
  const paths = withoutRefusals(pick(document.paths as JsonObject, clientPaths));
  const { schemas } = document.components as { schemas: JsonObject };
  const names = new Set<string>();
  const collect = (value: JsonValue | undefined): void => {
    for (const [, name = ''] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (names.has(name)) continue;
      names.add(name);
      collect(schemas[name]);
    }
  };
  collect(paths);
  return { ...pick(document, ['openapi', 'info']), paths, components: { schemas: pick(schemas, [...names].sort()) } };
}

/** Statuses are the only keys of three digits in the paths. */
const withoutRefusals = (paths: JsonObject): JsonObject =>
  JSON.parse(JSON.stringify(paths), (key, value: unknown) =>
    /^[45]\d\d$/.test(key) ? undefined : value,
  ) as JsonObject;

const pick = (from: JsonObject, names: readonly string[]): JsonObject =>
  Object.fromEntries(names.map((name) => [name, from[name] ?? {}]));
