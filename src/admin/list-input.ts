import { z } from 'zod';
import { GatewayError } from '../domain/errors.ts';
import { timePosition } from '../domain/time-position.ts';
import { isByTime, sortedPosition, type ListRequest, type SortColumns } from '../db/list-order.ts';
import { readCursor } from '../platform/cursor.ts';
import { option } from './define-action.ts';
import { intFrom, pastMoment, unixSecondsOf } from './input.ts';

/**
 * The inputs that every list takes beside its filters. `columns` are those that it can be sorted by, `rows` are shown if no limit is
 * given, `position` matches its positions in the order of time, and `time` is the column of that time, by which an index sorts.
 */
export const listInput = (
  list: string,
  columns: SortColumns,
  { rows = 50, position = timePosition, time = '' } = {},
) => ({
  ...rangeInput,
  sort: option('<order>', sortOf(Object.keys(columns), time).default('newest')).describe(
    `the order: ${sortRule(Object.keys(columns))} (default: newest)`,
  ),
  limit: option('<rows>', intFrom(1, 10_000).default(rows)).describe(`show at most this many rows (default: ${rows})`),
  after: option('<cursor>', cursorOf(list, position)).describe('continue after the last row of an earlier list'),
});

/** The inputs of a list that is not divided into pages, because its rows are few. Without a sort it has an order of its own. */
export const wholeListInput = (columns: readonly string[], own: string) => ({
  ...rangeInput,
  sort: option('<order>', sortOf(columns).optional()).describe(`the order: ${sortRule(columns)} (default: ${own})`),
});

const rangeInput = {
  createdAfter: option('<time>', pastMoment.optional()).describe(
    'show only what was created at this time or later, such as 2h (ago) or 2030-01-31T12:00:00Z',
  ),
  createdBefore: option('<time>', pastMoment.optional()).describe('show only what was created before this time'),
};

const sortRule = (columns: readonly string[]): string =>
  `newest, oldest, or one of ${columns.join(', ')}, with - before it for the largest first`;

function sortOf(columns: readonly string[], time = '') {
  const byTime = new Map([
    [time, 'oldest'],
    [`-${time}`, 'newest'],
  ]);
  const orders = new Set(['newest', 'oldest', ...columns, ...columns.map((column) => `-${column}`)]);
  return z
    .string()
    .refine((sort) => orders.has(sort), `must be ${sortRule(columns)}`)
    .overwrite((sort) => byTime.get(sort) ?? sort);
}

const cursorOf = (list: string, position: RegExp) =>
  z
    .string()
    .transform((cursor, context): string | null => {
      const after = readCursor(list, position, cursor) ?? readCursor(list, sortedPosition, cursor);
      if (after !== null) return after;
      context.addIssue({ code: 'custom', message: 'must be the cursor of an earlier list like this one' });
      return z.NEVER;
    })
    .default(null);

interface ListInput {
  sort: string;
  createdAfter?: Date | undefined;
  createdBefore?: Date | undefined;
  limit: number;
  after: string | null;
}

/** The request for the page that the inputs ask for. Throws `invalid_value` for the cursor of a list in another order. */
export function listRequest({ createdAfter, createdBefore, ...page }: ListInput): ListRequest {
  const { after, sort } = page;
  const fits = after === null || (sortedPosition.test(after) ? after.startsWith(`${sort}:`) : isByTime(sort));
  if (!fits) {
    const message = `after is the cursor of a list in another order than ${sort}.`;
    throw new GatewayError('invalid_value', { param: 'after', message });
  }
  return { ...page, createdFrom: unixSecondsOf(createdAfter), createdBefore: unixSecondsOf(createdBefore) };
}
