import { createCached } from '../../../src/caches/cached.ts';
import { upstreamNames } from '../../../src/domain/catalog/listed-models.ts';

/** An operator who edits the catalog sees the change in the sandbox's model lists after this time. */
const keptMs = 5_000;

/** The names of each family's models in a catalog, for the sandbox's model lists. The catalog is read when a list is asked for. */
export function catalogNames(file: string): (family: string) => Promise<readonly string[]> {
  const entries = createCached(keptMs, async () => {
    // Reading a catalog needs packages that take longer to load than the sandbox takes to start.
    const { loadCatalog } = await import('../../../src/services/catalog/load-catalog.ts');
    return (await loadCatalog(file)).entries;
  });
  return async (family) => {
    const mappings = (await entries.get()).flatMap(({ private: { upstream } }) => upstream[family] ?? []);
    return [...new Set(mappings.flatMap(upstreamNames))].sort();
  };
}
