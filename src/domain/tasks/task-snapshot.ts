import type { CatalogEntry, UpstreamMapping } from '../catalog/catalog.ts';
import type { JsonObject } from '../json.ts';
import type { MediaFamilies } from './media-support.ts';
import { makersOf } from './offered-requests.ts';
import { mediaCost } from '../catalog/upstream-cost.ts';

/**
 * The catalog entry as it was when the task was priced. The task keeps it, so that a later change or removal of the model does
 * not affect a running task.
 */
export interface TaskSnapshot {
  groups: string[];
  upstream: Record<string, TaskMapping>;
  /** What the task is charged if it succeeds. Tasks of older releases lack it. */
  credits?: number;
}

/** The upstream families that make what this task asks for, each with its cost of the task. */
export const taskSnapshot = (entry: CatalogEntry, input: JsonObject, families: MediaFamilies = {}): TaskSnapshot => ({
  groups: entry.private.groups,
  upstream: Object.fromEntries(
    makersOf(entry, input, families).map(([family, mapping]) => [family, taskMapping(mapping, input)]),
  ),
});

/** A mapping as a task keeps it: with what this task costs instead of the rules, and without what only operators read. */
export type TaskMapping = ReturnType<typeof taskMapping>;

function taskMapping(mapping: UpstreamMapping, input: JsonObject) {
  const {
    cost,
    refuses: _refuses,
    verified: _verified,
    price_key: _priceKey,
    price_differs: _priceDiffers,
    loss_ok: _lossOk,
    ...sent
  } = mapping;
  return { ...sent, cost_micro_usd: mediaCost(cost, input) };
}
