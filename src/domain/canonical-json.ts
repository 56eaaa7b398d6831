import type { JsonValue } from './json.ts';

/**
 * The canonical text of a JSON value: keys sorted by code unit, no white space, numbers and strings as `JSON.stringify` writes them.
 * Two bodies that differ only in key order, spacing or spelling of a number have the same text. So idempotency fingerprints are
 * computed from it (rules "Media tasks"). The depth is limited where bodies are read.
 */
export function canonicalJson(value: JsonValue): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const members = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`).join(',')}}`;
}
