import { pageOf, type Page } from '../domain/page.ts';

/**
 * The most bytes of JSON on a page of a client, unless it has one row only. To parse a megabyte and write it again takes 57 ms of the event
 * loop, and a row may have 100 kB.
 */
export const CLIENT_PAGE_BYTES_MAX = 128_000;

/** The same for operators, whose lists may have 10,000 rows. */
export const OPERATOR_PAGE_BYTES_MAX = 1_000_000;

/** What `boundedText` adds to each row. */
export interface Bounded {
  /** The number of the row on its page. */
  pageRow: number;
  /** The bytes of this row and those before it. */
  pageBytes: number;
  /** How many rows the page would have without a bound. */
  pageFound: number;
}

/** A statement for a page, in its order, as one that leaves out the last rows if all together have more than `bytesMax` of JSON. */
export const boundedText = (text: string, bytesMax: number): string => `
  with listed as materialized (select row_number() over ()::int as page_row, rows.* from (${text}) rows),
  sized as (
    select listed.*, count(*) over ()::int as page_found,
      sum(octet_length(row_to_json(listed)::text)) over (order by page_row)::float8 as page_bytes
    from listed)
  select * from sized where page_row = 1 or page_bytes <= ${bytesMax} order by page_row`;

/** The page of rows of a bounded statement that read one row more than `limit`. It has fewer rows and a further page if they are large. */
export function boundedPageOf<Row extends object>(
  rows: readonly (Row & Bounded)[],
  limit: number,
  positionOf: (row: Row) => string,
): Page<Row> {
  const { items, next } = pageOf(rows, limit, positionOf, rows[0]?.pageFound);
  return { items: items.map(withoutBounds), next };
}

/** The row as the statement itself has it. */
export function withoutBounds<Row extends object>(row: Row & Partial<Bounded>): Row {
  const { pageRow: _row, pageBytes: _bytes, pageFound: _found, ...rest } = row;
  // TypeScript does not see that what is left is a `Row`.
  return rest as unknown as Row;
}
