import { columnOf } from '../db/column-names.ts';
import type { Page } from '../domain/page.ts';
import { writeCursor } from '../platform/cursor.ts';
import { oneLine, factText, table } from './plain-text.ts';

/** The result of an action: `document` for scripts, `text` for people. Long texts are getters, because the admin API seldom answers them. */
export interface Report<Document extends object = object> {
  document: Document;
  text: string;
  /** The action ran and its result is a refusal: exit code 1 of the command line. */
  refused?: boolean;
  /** The action's work continues after the answer. */
  pending?: boolean;
  /** The document is one page of a list: the cursor of the next page, or null for the last one. */
  nextCursor?: string | null;
}

/** One page of a list. The admin API adds its cursor to the document. */
export interface ListReport<Row> extends Report<{ data: Row[] }> {
  nextCursor: string | null;
}

/** The media type of a whole report in an answer of the admin API, for the command line. */
export const reportType = 'application/vnd.tollgate.report+json';

/** A list: a line per row for people, a document per row for scripts. A note says how to see further rows. */
export function listReport<Row extends object, Shown extends object>(
  { items, next }: Page<Row>,
  toLine: (row: Row) => Record<string, unknown>,
  { list, nothing, toDocument }: ListWords<Row, Shown>,
): ListReport<Shown> {
  const nextCursor = next === null ? null : writeCursor(list, next);
  return {
    document: { data: items.map(toDocument) },
    get text() {
      const text = table(items.map(toLine), nothing);
      if (nextCursor === null) return text;
      return `${text}\n(the first ${items.length} rows; --limit shows more, --after ${nextCursor} the next)`;
    },
    nextCursor,
  };
}

/** A report of a list with further members in its document. */
export const withDocument = <Row, Document extends { data: Row[] }>(
  report: ListReport<Row>,
  document: Document,
): ListReport<Row> & Report<Document> => ({
  document,
  nextCursor: report.nextCursor,
  get text() {
    return report.text;
  },
});

interface ListWords<Row, Shown> {
  /** The name of the list in its cursors, as `listInput` has it. */
  list: string;
  /** The text of an empty list. */
  nothing: string;
  /** Such as `jsonRow`. */
  toDocument: (row: Row) => Shown;
}

/** A sentence, the facts of `document`, and a line for each warning. `shown` replaces the facts that read differently in text. */
export function factsReport<Document extends object>(
  sentence: string,
  document: Document,
  { shown = {}, warnings = [] }: { shown?: Record<string, unknown>; warnings?: string[] } = {},
): Report<Document & { warnings?: string[] }> {
  const lines = [
    oneLine(sentence),
    factText({ ...document, ...shown }),
    ...warnings.map((each) => `Warning: ${oneLine(each)}`),
  ];
  return { document: { ...document, ...(warnings.length > 0 && { warnings }) }, text: lines.join('\n\n') };
}

/**
 * A row as `--json` shows it: columns in snake_case, times in whole unix seconds. What a JSON column holds stays as it is.
 */
export const jsonRow = <Row extends object>(row: Row): JsonRow<Row> =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]: [string, unknown]) => [
      columnOf(name),
      value instanceof Date ? Math.floor(value.getTime() / 1000) : value,
    ]),
  ) as JsonRow<Row>;

/** The type of a row after `jsonRow`. */
type JsonRow<Row> = {
  [Name in keyof Row as Name extends string ? SnakeCase<Name> : never]: Seconds<Row[Name]>;
};
type Seconds<Value> = Value extends Date ? number : Value;
type SnakeCase<Name extends string> = Name extends `${infer Letter}${infer Rest}`
  ? `${Letter extends Lowercase<Letter> ? Letter : `_${Lowercase<Letter>}`}${SnakeCase<Rest>}`
  : '';
