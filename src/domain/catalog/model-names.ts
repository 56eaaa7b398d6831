import { matchesGlob } from '../plans/model-pattern.ts';
import type { CatalogEntry } from './catalog.ts';

/** Every name by which clients may ask for a model: its id and its aliases. */
export const allNamesOf = ({ model, private: hidden }: CatalogEntry): string[] => [
  model.id,
  ...Object.keys(hidden.aliases),
];

/** The names by which a key's list of models may have the model: its id and, for a chat model, its aliases. */
export const listedNamesOf = (entry: CatalogEntry): string[] =>
  entry.model.type === 'chat' ? allNamesOf(entry) : [entry.model.id];

/** Whether an item of a key's list of models is a glob, such as `gpt-*`, which also names models to come. */
export const isModelGlob = (item: string): boolean => /[*?]/.test(item);

/**
 * Whether a key's list of models has the model: by its id or, for a chat model, by an alias. An item with `*` or `?` is a glob of these. Null allows
 * every model.
 */
export function isAllowed(models: readonly string[] | null, entry: CatalogEntry): boolean {
  if (models === null) return true;
  const names = listedNamesOf(entry);
  return models.some((item) => names.some((name) => item === name || (isModelGlob(item) && matchesGlob(item, name))));
}
