/**
 * The cursor of a list is the position of the last item that was sent, so items that are added or removed between two pages shift
 * nothing. Clients must not read it: it is encoded, with the name of its list.
 */
export const writeCursor = (list: string, position: string): string =>
  Buffer.from(`${list}:${position}`).toString('base64url');

/** The position in a cursor of this list; null for any other text. `position` matches the positions of the list. */
export function readCursor(list: string, position: RegExp, cursor: string): string | null {
  const text = Buffer.from(cursor, 'base64url').toString();
  const after = text.slice(list.length + 1);
  return text.startsWith(`${list}:`) && position.test(after) ? after : null;
}
