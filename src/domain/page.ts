/** Which page of a list is asked for. Lists are ordered newest first, unless they can be asked for the oldest first. */
export interface PageRequest {
  /** The most items. */
  limit: number;
  /** The position after which the page begins; null for the first page. */
  after: string | null;
}

/** One page of a list. */
export interface Page<Item> {
  items: Item[];
  /** The position after which the next page begins; null if this is the last page. */
  next: string | null;
}

/**
 * The page of the rows after a position. Give it one row more than `limit` where there are more, so that it knows, or how many were
 * `found` if not all of them are in `rows`.
 */
export function pageOf<Row>(
  rows: readonly Row[],
  limit: number,
  positionOf: (row: Row) => string,
  found = rows.length,
): Page<Row> {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return { items, next: found > items.length && last !== undefined ? positionOf(last) : null };
}
