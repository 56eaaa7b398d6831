import { isObject } from '../../domain/json.ts';

/** The members of a JSON object of a provider. None of them is trusted to have a type. */
export type Fields = Readonly<Record<string, unknown>>;

const none: Fields = Object.freeze(Object.create(null) as Record<string, unknown>);

/** The members of an object, or of the first object in a list. No members for every other value. */
export function fieldsOf(value: unknown): Fields {
  const object: unknown = Array.isArray(value) ? value.find(isObject) : value;
  return isObject(object) ? object : none;
}

/** The object in a member of an answer, or the answer itself if nothing stands there. */
export function innerOf(json: unknown, member: string): Fields {
  const root = fieldsOf(json);
  const inner = root[member];
  return isObject(inner) || Array.isArray(inner) ? fieldsOf(inner) : root;
}

/** A list as it is, one value as a list of it, and nothing as an empty list. */
export const asList = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? value : value === null || value === undefined ? [] : [value];

/** Text that is not blank, without the blanks around it. A number is its digits, and a list of one text is that text. */
export function asText(value: unknown): string | undefined {
  if (typeof value === 'string') return value.trim() || undefined;
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : undefined;
  return Array.isArray(value) && value.length === 1 ? asText(value[0]) : undefined;
}

/** A number, also as text and with a unit: `5.04`, `"5.04"`, `"5s"`, `"80%"`. */
export function numberOf(value: unknown): number | undefined {
  const match = /^([+-]?\d{1,15}(?:\.\d{1,15})?)\s{0,3}(?:s|sec|seconds|px|%)?$/i.exec(asText(value) ?? '');
  return match ? Number(match[1]) : undefined;
}

/** A flag, also as text or as a number. */
export function flagOf(value: unknown): boolean | undefined {
  if (typeof value === 'boolean') return value;
  const word = asText(value)?.toLowerCase();
  return word === 'true' || word === '1' ? true : word === 'false' || word === '0' ? false : undefined;
}

/** Percent from 0 to 100. A `fraction` is a share from 0 to 1, unless it has a percent sign. */
export function percentOf(value: unknown, unit: 'percent' | 'fraction' = 'percent'): number | undefined {
  const number = numberOf(value);
  if (number === undefined) return undefined;
  const isShare = unit === 'fraction' && !(asText(value) ?? '').endsWith('%');
  return Math.min(Math.max(Math.round(isShare ? number * 100 : number), 0), 100);
}

/** Nothing stands there: null, blank text, an empty list, an empty object, or a list of these. */
export function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  if (typeof value === 'string') return value.trim() === '';
  if (Array.isArray(value)) return value.every(isEmpty);
  return isObject(value) && Object.values(value).every(isEmpty);
}
