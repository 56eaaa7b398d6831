import type { JsonValue } from './json.ts';

/**
 * The one text of a JSON value: keys sorted by code unit, no white space, numbers and strings as `JSON.stringify`
 * writes them. Two bodies that differ only in key order, spacing or spelling of a number get the same text, so it is
 * what idempotency fingerprints are made of (rules "Media tasks"). Depth is bounded where bodies are read.
 */
export function canonicalJson(value: JsonValue): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const members = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`).join(',')}}`;
}
