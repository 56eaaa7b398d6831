import type { CatalogCache } from '../../caches/catalog-cache.ts';
import { findNamed, modelNotFound } from '../../services/catalog/find-model.ts';
import { BoundedMap } from '../../platform/bounded-map.ts';
import type { CatalogEntry } from '../../domain/catalog/catalog.ts';
import { isOffered, modelList, publicModel } from '../../domain/catalog/model-list.ts';
import { isAllowed } from '../../domain/catalog/model-names.ts';
import { keyOf, type AppContext, type AppMiddleware } from '../context.ts';
import type { ListQuery, ModelForm } from '../dialects/model-form.ts';
import { answerRepresentation, type Representation } from '../response/etag.ts';
import { demandSupportedQuery, queryLimit, queryValue } from '../request/query.ts';
import { answerCoded, perCatalog, renderCoded, renderJson, type CodedBody } from '../response/representations.ts';

interface ModelDeps {
  catalog: CatalogCache;
}

/** The form of the models by the request, because SDKs of several vendors read them at the same address. */
export type FormOf = (ctx: AppContext) => ModelForm;

/** How many lists are kept, by form, query and allowlist. Beyond it the oldest is dropped. */
const renderedMax = 100;

/**
 * `GET /api/v1/models` (spec §4.1) and the lists of other vendors: serialised once per catalog, allowlist and page, and compressed once if
 * it is the whole list. Each representation has an ETag of its own.
 */
export const listModels = ({ catalog }: ModelDeps, formOf: FormOf = () => nativeModels): AppMiddleware => {
  const rendered = perCatalog(() => new BoundedMap<CodedBody>(renderedMax));
  return async (ctx) => {
    const form = formOf(ctx);
    demandSupportedQuery(ctx, form.query);
    const entries = await catalog.entries();
    const { models } = keyOf(ctx);
    const name = JSON.stringify([form.name, ctx.querystring, models && [...models].sort()]);
    const list = rendered(entries).getOrMake(name, () => {
      const mayUse = entries.filter((entry) => isUsable(entry, models) && form.shows(entry));
      const plain = renderJson(form.list(mayUse, listQueryOf(ctx)));
      // A page is one of thousands that a client may ask for. To compress it takes half a second of a thread that others need.
      return ctx.querystring === '' ? renderCoded(plain) : { plain, coded: Promise.resolve(new Map()) };
    });
    await answerCoded(ctx, list);
  };
};

/**
 * `GET /api/v1/models/{model}` and the same of other vendors. A chat model is also found by an alias, and then shown under that name; with
 * `allAliases` an image or video model, too.
 */
export const showModel = (
  { catalog }: ModelDeps,
  formOf: FormOf = () => nativeModels,
  { allAliases = false } = {},
): AppMiddleware => {
  const rendered = perCatalog(() => new Map<string, Representation>());
  return async (ctx) => {
    const form = formOf(ctx);
    const id = ctx.params['model'] ?? '';
    const entries = await catalog.entries();
    const entry = await findNamed({ catalog }, id, { allAliases });
    const { models } = keyOf(ctx);
    if (!entry || !isUsable(entry, models) || !form.shows(entry)) {
      throw modelNotFound(
        id,
        entries.filter((one) => form.shows(one)),
        { models },
      );
    }
    const name = `${form.name} ${id}`;
    const representation = rendered(entries).get(name) ?? renderJson(form.one(namedAs(entry, id)));
    rendered(entries).set(name, representation);
    answerRepresentation(ctx, representation);
  };
};

/** The platform's own form: the entries of the catalog. */
const nativeModels: ModelForm = {
  name: 'native',
  query: [],
  shows: () => true,
  list: (entries) => modelList(entries),
  one: publicModel,
};

const isUsable = (entry: CatalogEntry, models: readonly string[] | null): boolean =>
  isOffered(entry) && isAllowed(models, entry);

const namedAs = (entry: CatalogEntry, id: string): CatalogEntry =>
  entry.model.id === id ? entry : { ...entry, model: { ...entry.model, id } };

const listQueryOf = (ctx: AppContext): ListQuery => ({
  value: (param) => queryValue(ctx, param),
  limit: (param, bounds) => queryLimit(ctx, { param, ...bounds }),
});
