import type { CatalogCache } from '../../caches/catalog-cache.ts';
import { BoundedMap } from '../../platform/bounded-map.ts';
import { sha256Hex } from '../../platform/crypto/hash.ts';
import type { CatalogEntry } from '../../domain/catalog.ts';
import { GatewayError, quoted } from '../../domain/errors.ts';
import { isOffered, modelList, publicModel } from '../../domain/model-list.ts';
import { keyOf, type AppContext, type AppMiddleware } from '../context.ts';
import { isNotModified } from '../etag.ts';

interface ModelDeps {
  catalog: CatalogCache;
}

interface Rendered {
  etag: string;
  body: Buffer;
}

/** How many allowlists have a cached list. Beyond it the oldest is dropped. */
const renderedMax = 100;

/** `GET /api/v1/models` (spec §4.1): the list, serialised once per catalog and allowlist, with an ETag of its own. */
export const listModels = ({ catalog }: ModelDeps): AppMiddleware => {
  let of: readonly CatalogEntry[] | null = null;
  const rendered = new BoundedMap<Rendered>(renderedMax);
  return async (ctx) => {
    const entries = await catalog.entries();
    if (entries !== of) {
      rendered.clear();
      of = entries;
    }
    const { models } = keyOf(ctx);
    const name = models === null ? '*' : JSON.stringify([...models].sort());
    const isAllowed = models === null ? undefined : (id: string) => models.includes(id);
    const list = rendered.getOrMake(name, () => render(modelList(entries, isAllowed)));
    answer(ctx, list);
  };
};

/** `GET /api/v1/models/{model}`. */
export const showModel =
  ({ catalog }: ModelDeps): AppMiddleware =>
  async (ctx) => {
    const id = ctx.params['model'] ?? '';
    const { models } = keyOf(ctx);
    const entry = await catalog.find(id);
    if (!entry || !isOffered(entry) || (models !== null && !models.includes(id))) {
      throw new GatewayError('model_not_found', { message: `There is no model ${quoted(id)}.`, param: 'model' });
    }
    answer(ctx, render(publicModel(entry)));
  };

function render(value: unknown): Rendered {
  const body = Buffer.from(JSON.stringify(value));
  return { body, etag: `"${sha256Hex(body).slice(0, 32)}"` };
}

function answer(ctx: AppContext, { etag, body }: Rendered): void {
  ctx.set('ETag', etag);
  ctx.set('Cache-Control', 'private');
  if (isNotModified(ctx, etag)) {
    ctx.status = 304;
    return;
  }
  ctx.type = 'application/json; charset=utf-8';
  ctx.body = body;
}
