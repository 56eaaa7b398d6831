import { promisify } from 'node:util';
import { brotliCompress, gzip, zstdCompress } from 'node:zlib';
import type { CatalogCache } from '../../caches/catalog-cache.ts';
import { BoundedMap } from '../../platform/bounded-map.ts';
import { etagOf } from '../../platform/crypto/hash.ts';
import type { CatalogEntry } from '../../domain/catalog.ts';
import { GatewayError, quoted } from '../../domain/errors.ts';
import { isOffered, modelList, publicModel } from '../../domain/model-list.ts';
import { keyOf, type AppMiddleware } from '../context.ts';
import { answerRepresentation, type Representation } from '../etag.ts';

interface ModelDeps {
  catalog: CatalogCache;
}

interface RenderedList {
  plain: Representation;
  coded: Promise<ReadonlyMap<string, Representation>>;
}

/** How many allowlists have a cached list. Beyond it the oldest is dropped. */
const renderedMax = 100;

/**
 * `GET /api/v1/models` (spec §4.1): the list, serialised and compressed once per catalog and allowlist. Each representation has an ETag
 * of its own.
 */
export const listModels = ({ catalog }: ModelDeps): AppMiddleware => {
  const rendered = perCatalog(() => new BoundedMap<RenderedList>(renderedMax));
  return async (ctx) => {
    const entries = await catalog.entries();
    const { models } = keyOf(ctx);
    const name = models === null ? '*' : JSON.stringify([...models].sort());
    const isAllowed = models === null ? undefined : (id: string) => models.includes(id);
    const list = rendered(entries).getOrMake(name, () => renderList(modelList(entries, isAllowed)));
    ctx.set('Vary', 'Accept-Encoding');
    const coding = ctx.get('accept-encoding') === '' ? false : ctx.acceptsEncodings([...codings, 'identity']);
    const coded = coding === false || coding === 'identity' ? undefined : (await list.coded).get(coding);
    answerRepresentation(ctx, coded ?? list.plain);
  };
};

/** `GET /api/v1/models/{model}`. */
export const showModel = ({ catalog }: ModelDeps): AppMiddleware => {
  const rendered = perCatalog(() => new Map<string, Representation>());
  return async (ctx) => {
    const id = ctx.params['model'] ?? '';
    const { models } = keyOf(ctx);
    const entries = await catalog.entries();
    const entry = entries.find(({ model }) => model.id === id);
    if (!entry || !isOffered(entry) || (models !== null && !models.includes(id))) {
      throw new GatewayError('model_not_found', { message: `There is no model ${quoted(id)}.`, param: 'model' });
    }
    const known = rendered(entries).get(id) ?? render(publicModel(entry));
    rendered(entries).set(id, known);
    answerRepresentation(ctx, known);
  };
};

/** What `make` returns, made again for each catalog. */
function perCatalog<T>(make: () => T): (entries: readonly CatalogEntry[]) => T {
  let made: { of: readonly CatalogEntry[]; value: T } | null = null;
  return (entries) => {
    if (made?.of !== entries) made = { of: entries, value: make() };
    return made.value;
  };
}

function render(value: unknown): Representation {
  const body = Buffer.from(JSON.stringify(value));
  return { body, etag: etagOf(body) };
}

function renderList(value: unknown): RenderedList {
  const plain = render(value);
  return { plain, coded: compressed(plain.body) };
}

/** The content codings by our preference, which decides between those that a client prefers equally and names in no order. */
const codings = ['br', 'zstd', 'gzip'] as const;
const compress = { br: promisify(brotliCompress), zstd: promisify(zstdCompress), gzip: promisify(gzip) };

/** The body in every coding in which it is shorter. */
async function compressed(plain: Buffer): Promise<ReadonlyMap<string, Representation>> {
  const made = await Promise.all(
    codings.map(async (coding): Promise<Representation> => {
      const body = await compress[coding](plain);
      return { body, etag: etagOf(body), coding };
    }),
  );
  return new Map(made.flatMap((one) => (one.body.length < plain.length && one.coding ? [[one.coding, one]] : [])));
}
