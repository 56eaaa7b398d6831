import type { CatalogEntry } from '../domain/catalog/catalog.ts';
import type { JsonObject } from '../domain/json.ts';
import type { Database } from '../db/database.ts';
import { listModels } from '../db/catalog/models.ts';
import { createCached } from './cached.ts';

export interface CatalogCache {
  /** All entries in the catalog's order, inactive and hidden ones too. The same array until the catalog changes. */
  entries(): Promise<readonly CatalogEntry[]>;
  find(modelId: string): Promise<CatalogEntry | null>;
  /** The model of an alias, and the parameters that the alias presets. */
  findAlias(alias: string): Promise<{ modelId: string; preset: JsonObject } | null>;
  forget(): void;
}

/** The catalog, at most `keptMs` old. An accepted task stores its own price, so an outdated catalog cannot change it. */
export function createCatalogCache(db: Database, keptMs: number): CatalogCache {
  let before: { entries: readonly CatalogEntry[]; text: string } | null = null;
  const cached = createCached(keptMs, async () => {
    const read = await listModels(db);
    const text = JSON.stringify(read);
    // What was rendered from an equal catalog stays valid.
    if (before?.text !== text) before = { entries: read, text };
    const { entries } = before;
    const aliases = entries.flatMap(({ model, private: hidden }) =>
      Object.entries(hidden.aliases).map(([alias, preset]) => [alias, { modelId: model.id, preset }] as const),
    );
    return { entries, byId: new Map(entries.map((entry) => [entry.model.id, entry])), aliases: new Map(aliases) };
  });
  return {
    entries: async () => (await cached.get()).entries,
    find: async (modelId) => (await cached.get()).byId.get(modelId) ?? null,
    findAlias: async (alias) => (await cached.get()).aliases.get(alias) ?? null,
    forget: () => cached.forget(),
  };
}
