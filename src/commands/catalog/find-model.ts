import type { CatalogEntry } from '../../domain/catalog.ts';
import { GatewayError, quoted } from '../../domain/errors.ts';
import { isOffered } from '../../domain/model-list.ts';
import { didYouMean } from '../../domain/nearest.ts';
import type { Deps } from '../../deps.ts';

/** The offered model that a request names. Throws `GatewayError` if there is none or the key may not use it. */
export async function findModelFor(
  { catalog }: Pick<Deps, 'catalog'>,
  model: unknown,
  key: { models: string[] | null },
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
  const entry = await catalog.find(model);
  if (!entry || !isOffered(entry)) {
    throw modelNotFound(model, await catalog.entries(), key);
  }
  if (key.models !== null && !key.models.includes(model))
    throw new GatewayError('model_not_allowed', {
      message: `This key may not use the model ${model}. GET /api/v1/models lists those that it may use.`,
      param: 'model',
    });
  return entry;
}

/** The refusal of an unknown model. It suggests only models that the key may use. */
export function modelNotFound(
  asked: string,
  entries: readonly CatalogEntry[],
  { models }: { models: string[] | null },
): GatewayError {
  const usable = entries.filter(isOffered).flatMap(({ model: { id } }) => (!models || models.includes(id) ? [id] : []));
  const message = `There is no model ${quoted(asked)}.${didYouMean(asked, usable)}`;
  return new GatewayError('model_not_found', { message, param: 'model' });
}
