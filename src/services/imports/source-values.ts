import { isObject } from '../../domain/json.ts';
import type { SourceRow, SourceValue } from '../../db/imports/source-database.ts';

/** The values of a row, whatever the database and its version give: a dump has numbers as text, SQLite has truths as numbers. */

export const columnText = (row: SourceRow, column: string): string => {
  const value = row[column];
  if (value === null || value === undefined || typeof value === 'object') return '';
  // char(48) is padded in PostgreSQL, which stores no NUL.
  return String(value).trimEnd().replaceAll('\0', '');
};

/** The beginning of a text, which does not end inside a character. */
export const clipped = (text: string, charactersMax: number): string => text.slice(0, charactersMax).toWellFormed();

/** An integer with all its digits; null if there is none. */
export function integerOf(row: SourceRow, column: string): bigint | null {
  const value = row[column];
  if (typeof value === 'bigint') return value;
  if (typeof value === 'boolean') return value ? 1n : 0n;
  const text = typeof value === 'number' ? value : typeof value === 'string' ? value.trim() : '';
  if (typeof text === 'number') return Number.isFinite(text) ? BigInt(Math.trunc(text)) : null;
  return /^-?\d+$/.test(text) ? BigInt(text) : /^-?\d+\.\d*$/.test(text) ? BigInt(text.replace(/\..*/, '')) : null;
}

/** A quota: 0 where there is none, null for what is no number. */
export const quotaOf = (row: SourceRow, column: string): bigint | null =>
  integerOf(row, column) ?? ((row[column] ?? '') === '' ? 0n : null);

/** An amount as it is written, so that one that is no number (`NaN`, `Infinity`) is not taken for none. */
export const amountOf = (row: SourceRow, column: string): number | null =>
  (row[column] ?? '') === '' ? null : Number(row[column]);

/** A number, or a text that is one; null for what is not finite. */
export function finiteNumber(value: unknown): number | null {
  const number =
    typeof value === 'bigint' || (typeof value === 'string' && value.trim() !== '') ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : null;
}

export const columnNumber = (row: SourceRow, column: string): number | null => finiteNumber(row[column]);

export const truthOf = (row: SourceRow, column: string): boolean => {
  const value = row[column];
  // The last one is bit(1) of MySQL.
  return (
    value === true ||
    value === 1 ||
    value === '\u0001' ||
    (typeof value === 'string' && /^(1|t|true|yes)$/i.test(value.trim()))
  );
};

/** A time in unix seconds: of a number of seconds, or a text in ISO 8601 that is UTC without a zone. */
export function secondsOf(value: SourceValue | undefined): number | null {
  if (typeof value === 'number') return value;
  if (value instanceof Date) return Math.floor(value.getTime() / 1_000);
  if (typeof value !== 'string' || value.trim() === '') return null;
  const text = value.trim().replace(' ', 'T');
  const at = Date.parse(/(Z|[+-]\d\d(:?\d\d)?)$/.test(text) ? text.replace(/([+-]\d\d)$/, '$1:00') : `${text}Z`);
  return Number.isNaN(at) ? null : Math.floor(at / 1_000);
}

/** JSON of a column as a value; null if it is none. */
export function jsonOf(value: SourceValue | undefined): unknown {
  if (typeof value !== 'string') return value ?? null;
  try {
    return JSON.parse(value);
  } catch {
    return null;
  }
}

export const objectOf = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {});

/** A list of texts: an array, JSON, or `{a,"b c"}` as PostgreSQL writes it. */
export function textsOf(value: SourceValue | undefined): string[] {
  if (Array.isArray(value)) return value.map(String);
  if (typeof value !== 'string') return [];
  const parsed = jsonOf(value);
  if (Array.isArray(parsed)) return parsed.map(String);
  const inner = /^\{(.*)\}$/s.exec(value.trim())?.[1] ?? '';
  return [...inner.matchAll(/"((?:[^"\\]|\\.)*)"|([^,]+)/g)].map(([, quoted, plain]) =>
    quoted === undefined ? (plain ?? '') : quoted.replace(/\\(.)/g, '$1'),
  );
}

/** `a,b` or lines, without blanks and repeats. */
export const wordsOf = (text: string): string[] => [
  ...new Set(
    text
      .split(/[,\n]/)
      .map((word) => word.trim())
      .filter((word) => word !== ''),
  ),
];

/** Facts as metadata of a project or a key, without empty ones, with the limits of metadata (500 characters each). */
export const metadataOf = (
  facts: Readonly<Record<string, string | number | null | undefined>>,
): Record<string, string> =>
  Object.fromEntries(
    Object.entries(facts)
      .filter(([, value]) => value !== null && value !== undefined && value !== '')
      .map(([name, value]) => [name, clipped(String(value), 500)]),
  );

/** Counts one more of a name. */
export const countOne = (counts: Map<string, number>, name: string): void =>
  void counts.set(name, (counts.get(name) ?? 0) + 1);
