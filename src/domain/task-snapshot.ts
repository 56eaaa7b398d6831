import type { CatalogEntry, UpstreamMapping } from './catalog.ts';
import type { JsonObject } from './json.ts';
import { canMake } from './upstream-parameters.ts';

/**
 * The catalog entry as it was when the task was priced. The task keeps it, so that a later change or removal of the model does
 * not affect a running task.
 */
export interface TaskSnapshot {
  groups: string[];
  upstream: Record<string, UpstreamMapping>;
}

/** The upstream families that offer every parameter value of this task. */
export const taskSnapshot = (entry: CatalogEntry, input: JsonObject): TaskSnapshot => ({
  groups: entry.private.groups,
  upstream: Object.fromEntries(Object.entries(entry.private.upstream).filter(([, mapping]) => canMake(mapping, input))),
});
