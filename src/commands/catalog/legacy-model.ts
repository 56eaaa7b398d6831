import type { Deps } from '../../deps.ts';
import type { CatalogEntry } from '../../domain/catalog.ts';
import type { JsonObject } from '../../domain/json.ts';
import { findModelFor } from './find-model.ts';

/**
 * The offered model for an id or a legacy alias, with the parameters that the alias presets. Throws as `findModelFor` does. A key's
 * allowlist has model ids, so it covers every alias of the model.
 */
export async function findLegacyModelFor(
  { catalog }: Pick<Deps, 'catalog'>,
  name: unknown,
  key: { models: string[] | null },
): Promise<{ entry: CatalogEntry; preset: JsonObject }> {
  const alias = typeof name === 'string' ? await catalog.findAlias(name) : null;
  const entry = await findModelFor({ catalog }, alias?.modelId ?? name, key);
  return { entry, preset: alias?.preset ?? {} };
}
