import { GatewayError, quoted } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import type { Page, PageRequest } from '../../domain/page.ts';
import { readCursor, writeCursor } from '../../platform/cursor.ts';
import type { AppContext } from '../context.ts';
import { queryLimit, queryValue } from './query.ts';

/** The query parameters that every list takes beside its filters. */
export const pageQuery = ['limit', 'after'] as const;

/** Reads which page of one list is asked for, and writes that page. */
export interface ListCodec {
  /** Throws `invalid_value` for a `limit` out of range and for an `after` that is no cursor of this list. */
  read(ctx: AppContext): PageRequest;
  write(page: Page<JsonObject>): JsonObject;
}

/**
 * The format that all lists of the API share: a cursor (`writeCursor`) leads to the next page. `position` matches the positions of this
 * list.
 */
export const createListCodec = (name: string, position: RegExp): ListCodec => ({
  read(ctx) {
    const limit = queryLimit(ctx, { fallback: 20, max: 100 });
    const cursor = queryValue(ctx, 'after');
    if (cursor === undefined) return { limit, after: null };
    const after = readCursor(name, position, cursor);
    if (after !== null) return { limit, after };
    const message = `after: ${quoted(cursor)} is not a next_cursor of this list.`;
    throw new GatewayError('invalid_value', { message, param: 'after' });
  },
  write: ({ items, next }) => ({
    object: 'list',
    data: items,
    has_more: next !== null,
    next_cursor: next === null ? null : writeCursor(name, next),
  }),
});
