import type { CatalogEntry } from './catalog.ts';

/** Every name by which clients may ask for a model: its id and its aliases. */
export const namesOf = ({ model, private: hidden }: CatalogEntry): string[] => [
  model.id,
  ...Object.keys(hidden.aliases),
];

/** Whether a key's list of models has the model: by its id or, for a chat model, by an alias. Null allows every model. */
export const isAllowed = (models: readonly string[] | null, entry: CatalogEntry): boolean =>
  models === null ||
  models.includes(entry.model.id) ||
  (entry.model.type === 'chat' && namesOf(entry).some((name) => models.includes(name)));
