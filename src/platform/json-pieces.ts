import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { canonicalJson } from '../domain/canonical-json.ts';
import type { JsonValue } from '../domain/json.ts';
import { sha256Hex } from './crypto/hash.ts';

/** What is written in one turn of the event loop, which takes about a millisecond. */
const SLICE_CHARACTERS = 262_144;

/** Whether a value has more than so many characters of JSON, more or less. Looks no further than that. */
export const isLarge = (value: unknown, characters = SLICE_CHARACTERS): boolean => weigh(value, characters) < 0;

/**
 * A large value as bytes of JSON, the same that `JSON.stringify` writes, in several turns of the event loop: 30 MB take a tenth of a second in one
 * piece, and exist twice meanwhile.
 */
export async function jsonBytes(value: unknown): Promise<Buffer[]> {
  const chunks: Buffer[] = [];
  await eachSlice(piecesOf(value, asItIs), (text) => chunks.push(Buffer.from(text)));
  return chunks;
}

/** SHA-256 of the canonical text of a value, in lower-case hexadecimal. That of a large one is made in several turns of the event loop. */
export async function canonicalHash(value: JsonValue): Promise<string> {
  if (!isLarge(value)) return sha256Hex(canonicalJson(value));
  const hash = createHash('sha256');
  await eachSlice(piecesOf(value, canonical), (text) => hash.update(text));
  return hash.digest('hex');
}

/** The hash that equal POST requests share, in whatever order the fields of their bodies stand. */
export const fingerprintOf = (path: string, body: JsonValue): Promise<string> =>
  canonicalHash({ method: 'POST', path, body });

async function eachSlice(pieces: Iterable<string>, take: (text: string) => void): Promise<void> {
  let text = '';
  for (const piece of pieces) {
    text += piece;
    if (text.length < SLICE_CHARACTERS) continue;
    take(text);
    text = '';
    await nextTurn();
  }
  if (text !== '') take(text);
}

/** How the parts of a value are written. */
interface Style {
  small: (value: unknown) => string;
  membersOf: (value: object) => [string, unknown][];
}
const asItIs: Style = { small: (value) => JSON.stringify(value) ?? 'null', membersOf: Object.entries };
const canonical: Style = {
  // What was parsed from JSON is a JSON value.
  small: (value) => canonicalJson(value as JsonValue),
  membersOf: (value) => Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)),
};

/** What is left of `characters` after the value; less than zero if it has more. */
function weigh(value: unknown, characters: number): number {
  if (typeof value === 'string') return characters - value.length;
  if (typeof value !== 'object' || value === null) return characters - VALUE_CHARACTERS;
  let left = characters - VALUE_CHARACTERS;
  if (Array.isArray(value)) {
    for (const item of value) {
      left = weigh(item, left);
      if (left < 0) return left;
    }
    return left;
  }
  // Without the pairs of `Object.entries`, which were 2 kB of garbage for each chat.
  for (const name in value) {
    left = weigh((value as Record<string, unknown>)[name], left - name.length);
    if (left < 0) return left;
  }
  return left;
}
const VALUE_CHARACTERS = 8;

function* piecesOf(value: unknown, style: Style): Generator<string> {
  if (!isLarge(value)) yield style.small(value);
  else if (typeof value === 'string') yield* piecesOfText(value);
  else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      yield index === 0 ? '[' : ',';
      yield* piecesOf(item, style);
    }
    yield ']';
  } else if (typeof value === 'object' && value !== null) {
    let before = '{';
    for (const [name, member] of style.membersOf(value)) {
      if (member === undefined) continue;
      yield `${before}${JSON.stringify(name)}:`;
      before = ',';
      yield* piecesOf(member, style);
    }
    yield before === '{' ? '{}' : '}';
  }
}

function* piecesOfText(text: string): Generator<string> {
  yield '"';
  for (let start = 0; start < text.length;) {
    const end = start + SLICE_CHARACTERS;
    // Not between the halves of a surrogate pair.
    const code = text.charCodeAt(end - 1);
    const slice = text.slice(start, code >= 0xd800 && code < 0xdc00 ? end - 1 : end);
    start += slice.length;
    yield JSON.stringify(slice).slice(1, -1);
  }
  yield '"';
}
