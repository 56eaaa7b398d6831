import type { CatalogEntry, Model } from './catalog.ts';
import { hasEnded } from './model-state.ts';

/** Whether clients may see and use a model: active, not hidden by its private `public: false`, and not past its end (rules "Catalog"). */
export const isOffered = ({ model, private: hidden }: CatalogEntry): boolean =>
  model.status === 'active' && hidden.public && !hasEnded(hidden);

/** A model as the listing shows it: the members of the specification (§2.1), in its order, and nothing private. */
export function publicModel({ model }: CatalogEntry): Model {
  const { id, object, type, owned_by, display_name, group, capability, description, status, pricing } = model;
  return {
    id,
    object,
    type,
    owned_by,
    display_name,
    group,
    capability,
    description,
    status,
    pricing,
    parameters: model.parameters,
    ...(model.catalogVisible === undefined ? {} : { catalogVisible: model.catalogVisible }),
  };
}

/** The body of `GET /api/v1/models`: the offered ones of these models, in the catalog's order. */
export const modelList = (entries: readonly CatalogEntry[]) => ({
  object: 'list' as const,
  data: entries.filter(isOffered).map(publicModel),
});

/** The same entries, chat models first: chat-ui and codecompanion.nvim chat with the first model of a list by default. */
export const chatFirst = (entries: readonly CatalogEntry[]): CatalogEntry[] =>
  entries.toSorted((one, other) => Number(other.model.type === 'chat') - Number(one.model.type === 'chat'));
