import { LRUCache } from 'lru-cache';
import { getOrMake } from '../platform/get-or-make.ts';
import type { CatalogEntry } from '../domain/catalog/catalog.ts';
import type { JsonObject } from '../domain/json.ts';
import type { Plan } from '../domain/plans/plan.ts';
import { entriesUnderPlan } from '../domain/plans/price-under-plan.ts';
import type { Database } from '../db/database.ts';
import { listModels } from '../db/catalog/models.ts';
import { createCached } from './cached.ts';

/** The catalog with the prices of one plan. */
export interface PricedCatalog {
  /** All entries in the catalog's order, inactive and hidden ones too. The same array until the catalog or the plan changes. */
  entries(): Promise<readonly CatalogEntry[]>;
  find(modelId: string): Promise<CatalogEntry | null>;
  /** The model of an alias, and the parameters that the alias presets. */
  findAlias(alias: string): Promise<{ modelId: string; preset: JsonObject } | null>;
}

/** The catalog with its own prices, and with those of plans. */
export interface CatalogCache extends PricedCatalog {
  /** The catalog as the projects with this plan see it. */
  under(plan: Plan | null): PricedCatalog;
  forget(): void;
}

interface Indexed {
  entries: readonly CatalogEntry[];
  byId: ReadonlyMap<string, CatalogEntry>;
}

/** Catalogs of this many plans are kept. Beyond it the oldest is dropped, and computed again when it is needed. */
const plansMax = 200;

/** The catalog, at most `keptMs` old. An accepted task stores its own price, so an outdated catalog cannot change it. */
export function createCatalogCache(db: Database, keptMs: number): CatalogCache {
  let before: { read: ReturnType<typeof indexed>; text: string } | null = null;
  const cached = createCached(keptMs, async () => {
    const entries = await listModels(db);
    const text = JSON.stringify(entries);
    // What was rendered from an equal catalog stays valid.
    if (before?.text !== text) before = { read: indexed(entries), text };
    return before.read;
  });
  const priced = (read: () => Promise<Indexed>): PricedCatalog => ({
    entries: async () => (await read()).entries,
    find: async (modelId) => (await read()).byId.get(modelId) ?? null,
    findAlias: async (alias) => (await cached.get()).aliases.get(alias) ?? null,
  });
  const own = priced(() => cached.get());
  return {
    ...own,
    under: (plan) => (plan === null ? own : priced(async () => (await cached.get()).under(plan))),
    forget: () => cached.forget(),
  };
}

function indexed(entries: readonly CatalogEntry[]) {
  const aliases = entries.flatMap(({ model, private: hidden }) =>
    Object.entries(hidden.aliases).map(([alias, preset]) => [alias, { modelId: model.id, preset }] as const),
  );
  const plans = new LRUCache<string, Indexed>({ max: plansMax });
  return {
    ...indexEntries(entries),
    aliases: new Map(aliases),
    under: ({ planId, revision, rules }: Plan): Indexed =>
      getOrMake(plans, `${planId} ${revision}`, () => indexEntries(entriesUnderPlan(entries, rules))),
  };
}

const indexEntries = (entries: readonly CatalogEntry[]): Indexed => ({
  entries,
  byId: new Map(entries.map((entry) => [entry.model.id, entry])),
});
