import { clean, facts, table } from './plain-text.ts';

/** The output of a command: `document` for scripts, `text` for people. */
export interface Report {
  document: object;
  text: string;
  /** The command ran and its result is a refusal: exit code 1. */
  refused?: boolean;
}

/** A list: a line per row for people, a document per row for scripts. A note says when the list ends at its limit. */
export function listReport<Row extends object>(
  rows: readonly Row[],
  toLine: (row: Row) => Record<string, unknown>,
  { nothing, limit = Infinity, toDocument = jsonRow }: ListWords<Row>,
): Report {
  const text = table(rows.map(toLine), nothing);
  return {
    document: { data: rows.map(toDocument) },
    text: rows.length < limit ? text : `${text}\n(the first ${limit} rows; --limit shows more)`,
  };
}

interface ListWords<Row> {
  /** The text of an empty list. */
  nothing: string;
  limit?: number;
  toDocument?: (row: Row) => object;
}

/** A sentence, the facts of `document`, and a line for each warning. `shown` replaces the facts that read differently in text. */
export function factsReport(
  sentence: string,
  document: object,
  { shown = {}, warnings = [] }: { shown?: Record<string, unknown>; warnings?: readonly string[] } = {},
): Report {
  const lines = [
    clean(sentence),
    facts({ ...document, ...shown }),
    ...warnings.map((each) => `Warning: ${clean(each)}`),
  ];
  return { document: { ...document, ...(warnings.length > 0 && { warnings }) }, text: lines.join('\n\n') };
}

/**
 * A row as `--json` shows it: columns in snake_case, times in whole unix seconds. What a JSON column holds stays as it is.
 */
export function jsonRow(row: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]: [string, unknown]) => [
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value instanceof Date ? Math.floor(value.getTime() / 1000) : value,
    ]),
  );
}
