import type { CatalogEntry } from '../domain/catalog.ts';
import type { JsonObject } from '../domain/json.ts';
import type { Database } from '../db/database.ts';
import { listModels } from '../db/models.ts';
import { createCached } from './cached.ts';

export interface CatalogCache {
  /** All entries in the catalog's order, inactive and hidden ones too. */
  entries(): Promise<readonly CatalogEntry[]>;
  find(modelId: string): Promise<CatalogEntry | null>;
  /** The model behind a name of the legacy routes, and the parameters that the name stands for. */
  findAlias(alias: string): Promise<{ modelId: string; preset: JsonObject } | null>;
  /** Forget what is remembered; the next look reads again. */
  forget(): void;
}

/** The catalog in memory. Decides only what is shown and asked; prices are contracted on the task itself. */
export function createCatalogCache(db: Database, keptMs: number): CatalogCache {
  const cached = createCached(keptMs, async () => {
    const entries = await listModels(db);
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
