import type { CatalogEntry, UpstreamMapping } from './catalog.ts';
import type { JsonObject } from './json.ts';
import { canMake } from './upstream-parameters.ts';

/**
 * What the catalog said when the task was priced. The task keeps it, so a model that is changed or removed while the task
 * runs changes nothing for it.
 */
export interface TaskSnapshot {
  groups: string[];
  upstream: Record<string, UpstreamMapping>;
}

/** Of the upstream families those that can make what this task asks for. */
export const taskSnapshot = (entry: CatalogEntry, input: JsonObject): TaskSnapshot => ({
  groups: entry.private.groups,
  upstream: Object.fromEntries(Object.entries(entry.private.upstream).filter(([, mapping]) => canMake(mapping, input))),
});
