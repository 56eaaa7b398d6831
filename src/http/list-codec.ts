import { GatewayError, quoted } from '../domain/errors.ts';
import type { JsonObject } from '../domain/json.ts';
import type { Page, PageRequest } from '../domain/page.ts';
import type { AppContext } from './context.ts';
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
 * The format that all lists of the API share. A cursor is the position of the last item that was sent, so items that are added or
 * removed between two pages shift nothing. Clients must not read it: it is encoded, with the name of its list. `position` matches
 * the positions of this list.
 */
export function createListCodec(name: string, position: RegExp): ListCodec {
  const prefix = `${name}:`;
  return {
    read(ctx) {
      const limit = queryLimit(ctx, { fallback: 20, max: 100 });
      const cursor = queryValue(ctx, 'after');
      if (cursor === undefined) return { limit, after: null };
      const text = Buffer.from(cursor, 'base64url').toString();
      const after = text.slice(prefix.length);
      if (text.startsWith(prefix) && position.test(after)) return { limit, after };
      const message = `after: ${quoted(cursor)} is not a next_cursor of this list.`;
      throw new GatewayError('invalid_value', { message, param: 'after' });
    },
    write: ({ items, next }) => ({
      object: 'list',
      data: items,
      has_more: next !== null,
      next_cursor: next === null ? null : Buffer.from(prefix + next).toString('base64url'),
    }),
  };
}
