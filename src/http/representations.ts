import { promisify } from 'node:util';
import { brotliCompress, gzip, zstdCompress } from 'node:zlib';
import { etagOf } from '../platform/crypto/hash.ts';
import type { CatalogEntry } from '../domain/catalog.ts';
import type { AppContext } from './context.ts';
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

/** What `make` returns for the entries of a catalog, made once for each catalog. */
export function perCatalog<T>(make: (entries: readonly CatalogEntry[]) => T): (entries: readonly CatalogEntry[]) => T {
  let made: { of: readonly CatalogEntry[]; value: T } | null = null;
  return (entries) => {
    if (made?.of !== entries) made = { of: entries, value: make(entries) };
    return made.value;
  };
}

/** The content codings by our preference, which decides between those that a client prefers equally and names in no order. */
const codings = ['br', 'zstd', 'gzip'] as const;
const compress = { br: promisify(brotliCompress), zstd: promisify(zstdCompress), gzip: promisify(gzip) };

/** The body in every coding in which it is shorter. */
async function compressed({ body: plain, type }: Representation): Promise<ReadonlyMap<string, Representation>> {
  const made = await Promise.all(
    codings.map(async (coding): Promise<Representation> => {
      const body = await compress[coding](plain);
      return { body, etag: etagOf(body), coding, ...(type !== undefined && { type }) };
    }),
  );
  return new Map(made.flatMap((one) => (one.body.length < plain.length && one.coding ? [[one.coding, one]] : [])));
}
