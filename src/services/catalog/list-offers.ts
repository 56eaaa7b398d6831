import { LRUCache } from 'lru-cache';
import { UnknownToOperator } from '../operator-error.ts';
import { listDatedModels, type DatedEntry } from '../../db/catalog/models.ts';
import { listChannels } from '../../db/channels/channels.ts';
import type { Database, Statements } from '../../db/database.ts';
import { findKey } from '../../db/projects/keys.ts';
import type { CatalogEntry } from '../../domain/catalog/catalog.ts';
import { modelMargins } from '../../domain/catalog/margins.ts';
import { isOffered } from '../../domain/catalog/model-list.ts';
import { isAllowed } from '../../domain/catalog/model-names.ts';
import { modelState } from '../../domain/catalog/model-state.ts';
import { smallestShare } from '../../domain/catalog/smallest-share.ts';
import { getOrMake } from '../../platform/get-or-make.ts';

/** A model as a list shows it. */
export interface Offer extends DatedEntry {
  state: string;
  /** The smallest margin of its requests as a share of the price; null if none is known. */
  smallestMargin: number | null;
}

/** The margins of three hundred models take 60 ms, and a list is read again and again. */
const shares = new LRUCache<string, { share: number | null }>({ max: 1_000 });

/** The models in the order of the catalog, with a credit worth `creditValue` micro-USD. */
export async function listOffers(db: Statements, creditValue: number): Promise<Offer[]> {
  const entries = await listDatedModels(db);
  return entries.map((entry) => {
    const key = `${entry.model.id} ${entry.changedAt} ${creditValue}`;
    const { share } = getOrMake(shares, key, () => ({
      share: smallestShare(modelMargins(entry, creditValue).margins),
    }));
    return { ...entry, state: modelState(entry.model, entry.private), smallestMargin: share };
  });
}

/** Whether clients are offered a model, this key may use it and an enabled channel serves it. Throws `UnknownToOperator`. */
export async function findUsable(db: Database, keyId: string): Promise<(entry: CatalogEntry) => boolean> {
  const [key, { channels }] = await Promise.all([findKey(db, keyId), listChannels(db)]);
  if (key === null) throw new UnknownToOperator(`There is no key ${keyId}.`);
  return (entry) => {
    const { groups, upstream } = entry.private;
    const serves = ({ enabled, adapter, groups: served }: (typeof channels)[number]): boolean =>
      enabled && adapter in upstream && served.some((group) => groups.includes(group));
    return isOffered(entry) && isAllowed(key.models, entry) && channels.some(serves);
  };
}
