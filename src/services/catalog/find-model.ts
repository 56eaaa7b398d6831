import type { CatalogEntry } from '../../domain/catalog/catalog.ts';
import { GatewayError, quoted } from '../../domain/errors.ts';
import { isOffered } from '../../domain/catalog/model-list.ts';
import { isAllowed } from '../../domain/catalog/model-names.ts';
import type { AuthenticatedKey } from '../../domain/projects/authenticated-key.ts';
import { didYouMean } from '../../domain/nearest.ts';
import type { PricedCatalog } from '../../caches/catalog-cache.ts';
import type { Deps } from '../../deps.ts';

/** What a key says about the models that it may use and what they cost. */
export type CallerOfModels = Pick<AuthenticatedKey, 'models' | 'plan'>;

/** Is told the model of a request as soon as it is known, so that a refusal after that names it. */
export type NoteModel = (modelId: string) => void;

/**
 * The offered model that a request names by its id or, for a chat model, by an alias. Aliases of image and video models count with `allAliases`
 * only, because their presets and the routes of the specification do not go together. It has the prices of the key's plan.
 * Throws `GatewayError`.
 */
export async function findModelFor(
  { catalog }: Pick<Deps, 'catalog'>,
  model: unknown,
  key: CallerOfModels,
  { allAliases = false, noteModel }: { allAliases?: boolean; noteModel?: NoteModel | undefined } = {},
): Promise<CatalogEntry> {
  if (model === undefined || model === null) {
    throw new GatewayError('missing_parameter', { message: 'model is required.', param: 'model' });
  }
  if (typeof model !== 'string' || model === '' || model.length > 200) {
    throw new GatewayError('invalid_value', {
      message: 'model must be the id of a model, a string of 1 to 200 characters.',
      param: 'model',
    });
  }
  const entry = await findNamed(catalog.under(key.plan), model, { allAliases });
  if (!entry) throw modelNotFound(model, await catalog.entries(), key);
  noteModel?.(entry.model.id);
  if (!isAllowed(key.models, entry))
    throw new GatewayError('model_not_allowed', {
      message: `This key may not use the model ${model}. GET /api/v1/models lists those that it may use.`,
      param: 'model',
    });
  return entry;
}

/** The offered model of an id or an alias, as `findModelFor` reads it; null if there is none. */
export async function findNamed(
  catalog: PricedCatalog,
  name: string,
  { allAliases = false }: { allAliases?: boolean } = {},
): Promise<CatalogEntry | null> {
  const entry = await catalog.find(name);
  if (entry && isOffered(entry)) return entry;
  const alias = await catalog.findAlias(name);
  const meant = alias && (await catalog.find(alias.modelId));
  if (meant && isOffered(meant) && (allAliases || meant.model.type === 'chat')) return meant;
  return name.endsWith(longContext) ? findNamed(catalog, name.slice(0, -longContext.length), { allAliases }) : null;
}

/** With this Claude Code and Claude Desktop mark a model whose long context they use, and some of their requests keep it. */
const longContext = '[1m]';

/** The refusal of an unknown model. It suggests only models that the key may use. */
export function modelNotFound(
  modelName: string,
  entries: readonly CatalogEntry[],
  { models }: { models: string[] | null },
): GatewayError {
  const usable = entries.filter((entry) => isOffered(entry) && isAllowed(models, entry)).map(({ model: { id } }) => id);
  const message = `There is no model ${quoted(modelName)}.${didYouMean(modelName, usable)}`;
  return new GatewayError('model_not_found', { message, param: 'model' });
}
