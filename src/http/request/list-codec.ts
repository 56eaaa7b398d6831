import { GatewayError, quoted } from '../../domain/errors.ts';
import type { Page, PageRequest } from '../../domain/page.ts';
import type { ListOf } from '../../schemas/list.ts';
import { readCursor, writeCursor } from '../../platform/cursor.ts';
import { queryAnyText, queryNumber, type QueryOf } from './query.ts';

/** The query parameters that every list takes beside its filters. */
export const pageQuery = {
  limit: queryNumber(
    'The most items of a page; 20 if absent. A page of large items has fewer: `has_more` tells whether there are others.',
    { max: 100 },
  ),
  after: queryAnyText('The `next_cursor` of the page before.'),
};

/**
 * The format that all lists of the API share: a cursor (`writeCursor`) leads to the next page. `position` matches the positions of this
 * list.
 */
export const createListCodec = (name: string, position: RegExp) => ({
  /** Throws `invalid_value` for an `after` that is no cursor of this list. */
  read({ limit = 20, after: cursor }: QueryOf<typeof pageQuery>): PageRequest {
    if (cursor === undefined) return { limit, after: null };
    const after = readCursor(name, position, cursor);
    if (after !== null) return { limit, after };
    const message = `after: ${quoted(cursor)} is not a next_cursor of this list.`;
    throw new GatewayError('invalid_value', { message, param: 'after' });
  },
  write: <Item>({ items, next }: Page<Item>): ListOf<Item> => ({
    object: 'list',
    data: items,
    has_more: next !== null,
    next_cursor: next === null ? null : writeCursor(name, next),
  }),
});
