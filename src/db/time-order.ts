import type { Page } from '../domain/page.ts';
import { newestPosition, oldestPosition, readTimePosition } from '../domain/time-position.ts';
import { boundedPageOf, boundedText, OPERATOR_PAGE_BYTES_MAX, type Bounded } from './bounded-page.ts';
import { timeOfPosition } from './time-position-sql.ts';

export type ListOrder = 'newest' | 'oldest';

/** The parts of a statement that reads the rows behind a position in their order. `values` are its parameters $1 and $2. */
export function byTime(row: string, order: ListOrder, after: string | null) {
  const isNewest = order === 'newest';
  const start = after === null ? (isNewest ? newestPosition : oldestPosition) : readTimePosition(after);
  const direction = isNewest ? 'desc' : 'asc';
  return {
    from: `(${row}.created_at, ${row}.id) ${isNewest ? '<' : '>'} (${timeOfPosition('$1')}, $2::text)`,
    order: `${row}.created_at ${direction}, ${row}.id ${direction}`,
    values: [start.microseconds, start.id],
  };
}

/** A statement for a page of an operators' list. */
export const operatorPageText = (text: string): string => boundedText(text, OPERATOR_PAGE_BYTES_MAX);

export type Positioned = Bounded & { position: string };

/** The page of the rows of such a statement, of which there is one more than `limit` if another page follows. Their positions are left out. */
export function pageOfRows<Row extends object>(
  rows: readonly (Row & Positioned)[],
  limit: number,
): Page<Omit<Row & { position: string }, 'position'>> {
  const { items, next } = boundedPageOf<Row & { position: string }>(rows, limit, ({ position }) => position);
  return { items: items.map(({ position: _, ...row }) => row), next };
}
