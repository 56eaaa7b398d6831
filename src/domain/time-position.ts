/** The position of an item in a list by time: when it was made, to the microsecond, and its id where two were made together. */
export interface TimePosition {
  /** Since 1970. */
  microseconds: number;
  id: string;
}

/** Matches a position that is written as text. */
export const timePosition = /^\d{1,16}\.[\w-]{1,64}$/;

/** Matches the position of an entry of the ledger, whose id is a number. */
export const entryPosition = /^\d{1,16}\.\d{1,18}$/;

/** Reads a text that `timePosition` matches. */
export function readTimePosition(text: string): TimePosition {
  const dot = text.indexOf('.');
  return { microseconds: Number(text.slice(0, dot)), id: text.slice(dot + 1) };
}

/** Before all items: in the year 2255. */
export const newestPosition: TimePosition = { microseconds: Number.MAX_SAFE_INTEGER, id: '' };

/** The second of `newestPosition`. */
export const newestSecond = Math.floor(newestPosition.microseconds / 1_000_000);

/** Before all items of a list that begins with the oldest. */
export const oldestPosition: TimePosition = { microseconds: 0, id: '' };

/** The position or the start of this second, whichever is earlier. Undefined is no second. */
export function earlierPosition(position: TimePosition, second: number | undefined): TimePosition {
  if (second === undefined || position.microseconds < second * 1_000_000) return position;
  // No id precedes the empty text.
  return { microseconds: second * 1_000_000, id: '' };
}

/** The position or the start of this second, whichever is later. */
export function laterPosition(position: TimePosition, second: number | undefined): TimePosition {
  if (second === undefined || position.microseconds >= second * 1_000_000) return position;
  return { microseconds: second * 1_000_000, id: '' };
}
