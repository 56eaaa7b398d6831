import { Readable, type Transform } from 'node:stream';
import { constants, createGunzip, createInflate, createInflateRaw, createZstdDecompress } from 'node:zlib';
import { GatewayError, quoted } from '../../domain/errors.ts';
import type { AppContext } from '../context.ts';

const codings = ['gzip', 'deflate', 'zstd'] as const;
/** A compression of request bodies that the gateway reads. */
export type ContentCoding = (typeof codings)[number];

const codingsByName: ReadonlyMap<string, ContentCoding> = new Map([
  ...codings.map((coding) => [coding, coding] as const),
  // RFC 9110 §8.4.1.3: an older name of the same.
  ['x-gzip', 'gzip'],
]);

/**
 * How the body of a request is compressed; null if it is not. Throws `unsupported_media_type` for a coding that is not read here, and for
 * several, and says in `Accept-Encoding` which are read (RFC 9110 §15.5.16).
 */
export function contentCodingOf(
  ctx: Pick<AppContext, 'req' | 'set'>,
  accepts: 'compressed' | 'plain',
): ContentCoding | null {
  const names = (ctx.req.headers['content-encoding'] ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity');
  const [first] = names;
  if (first === undefined) return null;
  const coding = codingsByName.get(first);
  if (accepts === 'compressed' && coding !== undefined && names.length === 1) return coding;
  ctx.set('accept-encoding', accepts === 'compressed' ? codings.join(', ') : 'identity');
  const message =
    accepts === 'plain'
      ? 'Compressed bodies are not accepted here: send the body without Content-Encoding.'
      : `The Content-Encoding ${quoted(names.join(', '))} is not accepted; accepted is one of ${new Intl.ListFormat('en-GB').format(codings)}.`;
  throw new GatewayError('unsupported_media_type', { message });
}

/**
 * Unpacks a body, and passes what it contains to `take` piece by piece. Ends with false as soon as that returns false, so that a body which unpacks
 * to too much costs no more than what is accepted. Throws what `take` throws, and `invalid_json` for a broken body.
 */
export async function unpack(
  packed: readonly Buffer[],
  coding: ContentCoding,
  take: (piece: Buffer) => boolean,
): Promise<boolean> {
  for await (const piece of pieces(packed, coding)) if (!take(piece)) return false;
  return true;
}

/** A reader that stops ends the decoder. */
async function* pieces(packed: readonly Buffer[], coding: ContentCoding): AsyncGenerator<Buffer> {
  const decoder: AsyncIterable<Buffer> = Readable.from(packed).pipe(decoders[coding](packed[0]));
  try {
    yield* decoder;
  } catch (cause) {
    throw new GatewayError('invalid_json', { message: `The body is not valid ${coding}.`, cause });
  }
}

/** How much a decoder hands over in one piece. */
const chunkSize = 65_536;
/** RFC 9659 §3: a window of up to 8 MB. A frame may ask for gigabytes. */
const zstdWindowLogMax = 23;

const decoders: Record<ContentCoding, (first: Buffer | undefined) => Transform> = {
  gzip: () => createGunzip({ chunkSize }),
  deflate: (first) => (isZlib(first) ? createInflate({ chunkSize }) : createInflateRaw({ chunkSize })),
  zstd: () => createZstdDecompress({ chunkSize, params: { [constants.ZSTD_d_windowLogMax]: zstdWindowLogMax } }),
};

/** RFC 9110 §8.4.1.2: deflate is the format zlib (RFC 1950), which some clients leave out around the compressed data. */
const isZlib = (first: Buffer | undefined): boolean =>
  first === undefined || first.length < 2 || ((first[0] ?? 0) % 16 === 8 && first.readUInt16BE(0) % 31 === 0);
