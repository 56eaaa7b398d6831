import { isUtf8 } from 'node:buffer';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** So much is decoded in one turn of the event loop, which takes a few milliseconds. */
const TURN_BYTES = 4_000_000;

/**
 * The text of chunks of UTF-8; null if they are not UTF-8. A large text is decoded in several turns of the event loop, because others would
 * wait for 32 MB in one piece. Takes the chunks out of the list as it reads them, so that their memory can be used again.
 */
export async function readText(chunks: Buffer[]): Promise<string | null> {
  const pieces: string[] = [];
  let rest: Buffer = Buffer.alloc(0);
  while (chunks.length > 0) {
    const joined = join(rest, takeSome(chunks));
    const end = chunks.length > 0 ? endOfWhole(joined) : joined.length;
    const whole = joined.subarray(0, end);
    if (!isUtf8(whole)) return null;
    pieces.push(whole.toString('utf8'));
    rest = joined.subarray(end);
    if (chunks.length > 0) await nextTurn();
  }
  if (pieces.length === 1) return pieces[0] ?? '';
  const text = pieces.join('');
  await nextTurn();
  return text;
}

function takeSome(chunks: Buffer[]): Buffer[] {
  let bytes = 0;
  const count = chunks.findIndex(({ length }) => (bytes += length) >= TURN_BYTES) + 1;
  return chunks.splice(0, count === 0 ? chunks.length : count);
}

function join(rest: Buffer, chunks: Buffer[]): Buffer {
  const [first] = chunks;
  return rest.length === 0 && chunks.length === 1 && first ? first : Buffer.concat([rest, ...chunks]);
}

/** Where the last whole character of UTF-8 ends. */
function endOfWhole(bytes: Buffer): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    // A byte that continues a character.
    if (byte >= 0x80 && byte < 0xc0) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}
