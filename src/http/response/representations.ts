import { promisify } from 'node:util';
import { brotliCompress, constants, gzip, zstdCompress } from 'node:zlib';
import { etagOf } from '../../platform/crypto/hash.ts';
import type { CatalogEntry } from '../../domain/catalog/catalog.ts';
import type { AppContext } from '../context.ts';
import { answerRepresentation, type Representation } from './etag.ts';

/** A body as it is, and in every content coding in which it is shorter. */
export interface CodedBody {
  plain: Representation;
  coded: Promise<ReadonlyMap<string, Representation>>;
}

/** A value as JSON. */
export function renderJson(value: unknown): Representation {
  const body = Buffer.from(JSON.stringify(value));
  return { body, etag: etagOf(body) };
}

/** A body that is sent so often that it is compressed once and kept. */
export const renderCoded = (plain: Representation): CodedBody => ({ plain, coded: compressed(plain) });

/** Answers in the coding that the client prefers. */
export async function answerCoded(ctx: AppContext, { plain, coded }: CodedBody): Promise<void> {
  ctx.vary('Accept-Encoding');
  const coding = ctx.get('accept-encoding') === '' ? false : ctx.acceptsEncodings([...codings, 'identity']);
  const chosen = coding === false || coding === 'identity' ? undefined : (await coded).get(coding);
  answerRepresentation(ctx, chosen ?? plain);
}

/** What `make` returns for the entries of a catalog under a plan, made once for each, and forgotten with them. */
export function perCatalog<T extends object>(
  make: (entries: readonly CatalogEntry[]) => T,
): (entries: readonly CatalogEntry[]) => T {
  const made = new WeakMap<readonly CatalogEntry[], T>();
  return (entries) => {
    const value = made.get(entries) ?? make(entries);
    made.set(entries, value);
    return value;
  };
}

/** The content codings by our preference, which decides between those that a client prefers equally and names in no order. */
const codings = ['br', 'zstd', 'gzip'] as const;
const [br, zstd, gz] = [promisify(brotliCompress), promisify(zstdCompress), promisify(gzip)];
const compress = {
  br: (body: Buffer) => br(body, { params: { [constants.BROTLI_PARAM_LGWIN]: windowBits(body) } }),
  zstd: (body: Buffer) => zstd(body),
  gzip: (body: Buffer) => gz(body),
};

/** A window as large as the body. The usual one of 4 MB takes 40 MB while it is compressed, which the allocator does not give back. */
const windowBits = ({ length }: Buffer): number =>
  Math.min(
    constants.BROTLI_DEFAULT_WINDOW,
    Math.max(constants.BROTLI_MIN_WINDOW_BITS, Math.ceil(Math.log2(length + 16))),
  );

/** The body in every coding in which it is shorter. */
async function compressed({ body: plain, type }: Representation): Promise<ReadonlyMap<string, Representation>> {
  const made = new Map<string, Representation>();
  // One after another, because each needs megabytes.
  for (const coding of codings) {
    const body = await compress[coding](plain);
    if (body.length < plain.length) {
      made.set(coding, { body, etag: etagOf(body), coding, ...(type !== undefined && { type }) });
    }
  }
  return made;
}
