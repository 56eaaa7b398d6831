import type { Deps } from '../../deps.ts';
import type { CatalogEntry } from '../../domain/catalog/catalog.ts';
import type { JsonObject } from '../../domain/json.ts';
import { findModelFor, type CallerOfModels, type NoteModel } from './find-model.ts';

/**
 * The offered model for an id or any alias, with the parameters that the alias presets. Throws as `findModelFor` does.
 */
export async function findLegacyModelFor(
  { catalog }: Pick<Deps, 'catalog'>,
  name: unknown,
  key: CallerOfModels,
  noteModel?: NoteModel,
): Promise<{ entry: CatalogEntry; preset: JsonObject }> {
  const entry = await findModelFor({ catalog }, name, key, { allAliases: true, noteModel });
  const { aliases } = entry.private;
  return { entry, preset: (typeof name === 'string' && Object.hasOwn(aliases, name) && aliases[name]) || {} };
}
