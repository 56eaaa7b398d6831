import { z } from 'zod';
import { timePosition } from '../domain/time-position.ts';
import { readCursor } from '../platform/cursor.ts';
import { option } from './define-action.ts';
import { count } from './input.ts';

/** The inputs that every list takes beside its filters. `usual` rows are shown if no limit is given. */
export const pageInput = (list: string, usual = 50, position = timePosition) => ({
  limit: option('<rows>', count(1, 10_000).default(usual)).describe(`show at most this many rows (default: ${usual})`),
  after: option('<cursor>', cursorOf(list, position)).describe('continue after the last row of an earlier list'),
});

const cursorOf = (list: string, position: RegExp) =>
  z
    .string()
    .transform((cursor, context): string | null => {
      const after = readCursor(list, position, cursor);
      if (after !== null) return after;
      context.addIssue({ code: 'custom', message: 'must be the cursor of an earlier list like this one' });
      return z.NEVER;
    })
    .default(null);

/** The order of a list that can begin with the oldest row. */
export const sortInput = {
  sort: option('<order>', z.enum(['newest', 'oldest'], 'must be newest or oldest').default('newest')).describe(
    'begin with the newest or the oldest (default: newest)',
  ),
};
