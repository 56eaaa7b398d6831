import type { CatalogEntry, UpstreamMapping } from './catalog.ts';

/**
 * What the catalog said when the task was priced. The task keeps it, so a model that is changed or removed while the task
 * runs changes nothing for it.
 */
export interface TaskSnapshot {
  groups: string[];
  upstream: Record<string, UpstreamMapping>;
}

export const taskSnapshot = (entry: CatalogEntry): TaskSnapshot => ({
  groups: entry.private.groups,
  upstream: entry.private.upstream,
});
