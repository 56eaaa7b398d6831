import { constants, inflateSync } from 'node:zlib';
import { z } from 'zod';

/** What the decoding of all streams of a request may cost. It counts down. */
export interface DecodingBudget {
  bytes: number;
  /** By `performance.now()`. */
  until: number;
}

/** What `inflateSync` returns with `info`. */
const Inflated = z.object({ buffer: z.instanceof(Buffer), engine: z.object({ bytesWritten: z.number() }) });

/** Codecs of pictures, which hold no text (ISO 32000-1, 7.4). */
const pictureCodecs = ['DCTDecode', 'DCT', 'JPXDecode', 'CCITTFaxDecode', 'CCF', 'JBIG2Decode'];

/**
 * The data of the stream at `start`, and where to read on. `data` is null for a picture. Returns null if its filters are none that writers of text use, or
 * if it does not fit into the budget. Flate data end by themselves, so that neither `Length` nor a false `endstream` hides anything.
 */
export function decodeStream(
  bytes: Buffer,
  { start, dictionary }: { start: number; dictionary: string },
  budget: DecodingBudget,
): { data: Buffer | null; end: number } | null {
  const filters = filtersIn(dictionary);
  if (filters === null) return null;
  const ending = bytes.indexOf('endstream', start);
  let end = ending < 0 ? bytes.length : ending;
  let data = bytes.subarray(start, end);
  for (const [index, filter] of filters.entries()) {
    if (pictureCodecs.includes(filter)) return { data: null, end };
    if (filter === 'FlateDecode' || filter === 'Fl') {
      const inflated = inflate(index === 0 ? bytes.subarray(start) : data, budget);
      if (inflated === null) return null;
      if (index === 0) end = start + inflated.consumed;
      data = inflated.data;
    } else if (filter === 'ASCII85Decode' || filter === 'A85') {
      const decoded = fromAscii85(data, budget);
      if (decoded === null) return null;
      data = decoded;
    } else if (filter === 'ASCIIHexDecode' || filter === 'AHx')
      data = Buffer.from(data.toString('latin1').replaceAll(/\s|>[^]*/g, ''), 'hex');
    else return null;
  }
  return { data, end };
}

/** The names of the filters; null if they cannot be read here. */
function filtersIn(dictionary: string): string[] | null {
  const named = dictionary.match(/\/Filter\b/g)?.length ?? 0;
  if (named === 0) return [];
  const found = /\/Filter\s*(\/\w+|\[[^\][%]*\])/.exec(dictionary)?.[1];
  if (named > 1 || found === undefined) return null;
  const names = found.match(/\/\w+/g) ?? [];
  return names.map((name) => name.slice(1));
}

function inflate(data: Buffer, budget: DecodingBudget): { data: Buffer; consumed: number } | null {
  if (budget.bytes <= 0) return null;
  try {
    // A stream that is cut is read as far as it goes.
    const { buffer, engine } = Inflated.parse(
      inflateSync(data, { info: true, maxOutputLength: budget.bytes, finishFlush: constants.Z_SYNC_FLUSH }),
    );
    budget.bytes -= buffer.length;
    return { data: buffer, consumed: engine.bytesWritten };
  } catch {
    return null;
  }
}

/** Four bytes from five characters; `z` stands for four zeros (ISO 32000-1, 7.4.3). Null if they do not fit into the budget. */
function fromAscii85(text: Buffer, budget: DecodingBudget): Buffer | null {
  const zeros = text.reduce((count, code) => (code === ZERO ? count + 1 : count), 0);
  const bytes = zeros * 4 + Math.ceil(text.length / 5) * 4;
  if (bytes > budget.bytes) return null;
  budget.bytes -= bytes;
  const decoded = Buffer.alloc(bytes);
  let length = 0;
  let value = 0;
  let count = 0;
  for (const code of text) {
    if (code === END) break;
    if (code === ZERO && count === 0) length += 4;
    if (code < 0x21 || code > 0x75) continue;
    value = value * 85 + (code - 0x21);
    count += 1;
    if (count < 5) continue;
    length = decoded.writeUInt32BE(value % 0x1_0000_0000, length);
    value = 0;
    count = 0;
  }
  if (count < 2) return decoded.subarray(0, length);
  for (let index = count; index < 5; index += 1) value = value * 85 + 84;
  decoded.writeUInt32BE(value % 0x1_0000_0000, length);
  return decoded.subarray(0, length + count - 1);
}
const [ZERO, END] = [0x7a, 0x7e];
