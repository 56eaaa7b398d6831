import { GatewayError } from '../../domain/errors.ts';

/**
 * The objects that stand in lists: messages, parts of messages, tools, pictures. Each level of nesting may have this many, so that a request
 * of many messages with one part each is one of many messages. A checked object costs microseconds of the event loop.
 */
const PARTS_MAX = 10_000;
/** All fields and items together: twenty for each part. */
const VALUES_MAX = 200_000;

/**
 * Counts what a JSON body has, piece by piece as it arrives, before anything of it is parsed: a body of small parts becomes forty times
 * as large by parsing. The text need not be valid JSON. Throws `invalid_json` as soon as there is too much: more than `depthMax` levels, more
 * than 10,000 objects in the lists of one level, or more than 200,000 values.
 */
export function createJsonCounter(depthMax: number): (piece: Uint8Array) => void {
  let depth = 0;
  let values = 0;
  let isInString = false;
  let isEscaped = false;
  const isList = new Uint8Array(depthMax + 1);
  const parts = new Uint32Array(depthMax + 1);

  const open = (byte: number): void => {
    if (byte === OBJECT && isList[depth] === 1) {
      const count = (parts[depth] ?? 0) + 1;
      parts[depth] = count;
      if (count > PARTS_MAX) throw tooMuch(`The body has more than ${PARTS_MAX} objects in its lists.`);
    }
    depth += 1;
    if (depth > depthMax) throw tooMuch(`JSON may be nested ${depthMax} levels deep at most.`);
    isList[depth] = byte === LIST ? 1 : 0;
  };

  return (piece) => {
    let index = 0;
    while (index < piece.length) {
      if (isInString) {
        index = endOfString(piece, isEscaped ? index + 1 : index);
        isInString = index >= piece.length;
        isEscaped = index > piece.length;
        index += 1;
        continue;
      }
      const byte = piece[index];
      index += 1;
      if (byte === QUOTE) isInString = true;
      else if (byte === OBJECT_END || byte === LIST_END) depth = Math.max(0, depth - 1);
      else if (byte === COMMA || byte === OBJECT || byte === LIST) {
        values += 1;
        if (byte !== COMMA) open(byte);
      }
    }
    if (values > VALUES_MAX) throw tooMuch(`The body has more than ${VALUES_MAX} values.`);
  };
}

/** After so many bytes of a string its end is left to `indexOf`, which costs more to begin and less for each byte. */
const SHORT_BYTES = 48;

/** The index of the quote that ends a string. If the piece ends before: its length, or one more if the next character is escaped. */
function endOfString(piece: Uint8Array, start: number): number {
  let index = start;
  let shortUntil = start + SHORT_BYTES;
  while (index < piece.length) {
    if (index < shortUntil) {
      const byte = piece[index];
      if (byte === QUOTE) return index;
      index += byte === ESCAPE ? 2 : 1;
      continue;
    }
    const found = piece.indexOf(QUOTE, index);
    const quote = found < 0 ? piece.length : found;
    const isEscaped = escapesBefore(piece, quote, index) % 2 === 1;
    if (found < 0 || !isEscaped) return isEscaped ? quote + 1 : quote;
    index = quote + 1;
    shortUntil = index + SHORT_BYTES;
  }
  return index;
}

/** How many backslashes stand directly before `end`, of those from `start` on. */
function escapesBefore(piece: Uint8Array, end: number, start: number): number {
  let index = end;
  while (index > start && piece[index - 1] === ESCAPE) index -= 1;
  return end - index;
}

const [QUOTE, ESCAPE, COMMA] = [0x22, 0x5c, 0x2c];
const [OBJECT, OBJECT_END, LIST, LIST_END] = [0x7b, 0x7d, 0x5b, 0x5d];

const tooMuch = (message: string): GatewayError => new GatewayError('invalid_json', { message });
