import type { Fields } from './chat.ts';

export type { Fields };

export const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value at a path of members, such as `data.task_status`. */
export const valueAt = (json: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((value, key) => (isObject(value) ? value[key] : undefined), json);

/** Sets the value at a path of members. Objects on the way that are missing are made. */
export function setAt(json: unknown, path: string, value: unknown): void {
  const keys = path.split('.');
  const last = keys.pop() ?? '';
  let object = json;
  for (const key of keys) {
    if (!isObject(object)) return;
    if (!isObject(object[key])) object[key] = {};
    object = object[key];
  }
  if (isObject(object)) object[last] = value;
}

/** The first address of a file in an answer. */
export const addressIn = (json: unknown): string | undefined =>
  /"(http:\/\/[^"]{1,500}\/files\/[^"]{1,500})"/.exec(JSON.stringify(json))?.[1];
