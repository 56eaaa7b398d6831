import type { JsonObject, JsonValue } from '../../src/domain/json.ts';

/** The object at a place in JSON; empty if there is none. */
export function objectAt(value: JsonValue | undefined, ...path: (string | number)[]): JsonObject {
  const found = at(value, ...path);
  return typeof found === 'object' && found !== null && !Array.isArray(found) ? found : {};
}
export function listAt(value: JsonValue | undefined, ...path: (string | number)[]): JsonObject[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found.map((one) => objectAt(one)) : [];
}
export const textAt = (value: JsonValue | undefined, ...path: (string | number)[]): string => {
  const found = at(value, ...path);
  return typeof found === 'string' ? found : '';
};
export const countAt = (value: JsonValue | undefined, ...path: (string | number)[]): number => {
  const found = at(value, ...path);
  return typeof found === 'number' ? found : 0;
};
function at(value: JsonValue | undefined, ...path: (string | number)[]): JsonValue | undefined {
  return path.reduce<JsonValue | undefined>(
    (inner, key) =>
      Array.isArray(inner)
        ? inner[Number(key)]
        : typeof inner === 'object' && inner !== null
          ? inner[String(key)]
          : undefined,
    value,
  );
}

/** The JSON in a text. */
export const parsed = (text: string): JsonValue => JSON.parse(text) as JsonValue;
