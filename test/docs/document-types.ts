import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript';
import { format } from 'prettier';
import type { JsonObject, JsonValue } from '../../src/domain/json.ts';

/**
 * The TypeScript types of an OpenAPI document, or of these paths and the schemas that they refer to, without the refusals, which the clients
 * read themselves. Each named schema is also an export of its own.
 */
export async function typesOf(document: JsonObject, paths = Object.keys(document.paths as JsonObject)) {
  const types = astToString(
    await openapiTS(partOf(document, paths) as unknown as OpenAPI3, {
      rootTypes: true,
      rootTypesNoSchemaPrefix: true,
      rootTypesKeepCasing: true,
    }),
  );
  const text = `// Written by \`npm run docs:api\` from the OpenAPI document.\n${types}`;
  return format(text, { parser: 'typescript', printWidth: 120, singleQuote: true });
}

function partOf(document: JsonObject, names: readonly string[]): JsonObject {
  const paths = withoutRefusals(pick(document.paths as JsonObject, names));
  const { schemas } = document.components as { schemas: JsonObject };
  const used = new Set<string>();
  const collect = (value: JsonValue | undefined): void => {
    for (const [, name = ''] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (used.has(name)) continue;
      used.add(name);
      collect(schemas[name]);
    }
  };
  collect(paths);
  return { ...pick(document, ['openapi', 'info']), paths, components: { schemas: pick(schemas, [...used].sort()) } };
}

/** Statuses are the only keys of three digits in the paths. */
const withoutRefusals = (paths: JsonObject): JsonObject =>
  JSON.parse(JSON.stringify(paths), (key, value: unknown) =>
    /^[45]\d\d$/.test(key) ? undefined : value,
  ) as JsonObject;

const pick = (from: JsonObject, names: readonly string[]): JsonObject =>
  Object.fromEntries(names.map((name) => [name, from[name] ?? {}]));
