import type { CatalogCache } from '../../caches/catalog-cache.ts';
import { BoundedMap } from '../../platform/bounded-map.ts';
import { GatewayError, quoted } from '../../domain/errors.ts';
import { isOffered, modelList, publicModel } from '../../domain/model-list.ts';
import { keyOf, type AppMiddleware } from '../context.ts';
import { answerRepresentation, type Representation } from '../etag.ts';
import { answerCoded, perCatalog, renderCoded, renderJson, type CodedBody } from '../representations.ts';

interface ModelDeps {
  catalog: CatalogCache;
}

/** How many allowlists have a cached list. Beyond it the oldest is dropped. */
const renderedMax = 100;

/**
 * `GET /api/v1/models` (spec §4.1): the list, serialised and compressed once per catalog and allowlist. Each representation has an ETag
 * of its own.
 */
export const listModels = ({ catalog }: ModelDeps): AppMiddleware => {
  const rendered = perCatalog(() => new BoundedMap<CodedBody>(renderedMax));
  return async (ctx) => {
    const entries = await catalog.entries();
    const { models } = keyOf(ctx);
    const name = models === null ? '*' : JSON.stringify([...models].sort());
    const isAllowed = models === null ? undefined : (id: string) => models.includes(id);
    const list = rendered(entries).getOrMake(name, () => renderCoded(renderJson(modelList(entries, isAllowed))));
    await answerCoded(ctx, list);
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
    const known = rendered(entries).get(id) ?? renderJson(publicModel(entry));
    rendered(entries).set(id, known);
    answerRepresentation(ctx, known);
  };
};
