import type { CatalogEntry } from '../../domain/catalog.ts';
import { GatewayError, quoted } from '../../domain/errors.ts';
import { isOffered } from '../../domain/model-list.ts';
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
    throw new GatewayError('model_not_found', { message: `There is no model ${quoted(model)}.`, param: 'model' });
  }
  if (key.models !== null && !key.models.includes(model))
    throw new GatewayError('model_not_allowed', { param: 'model' });
  return entry;
}
