import { replaceCatalog } from '../../db/catalog/models.ts';
import { listPlans } from '../../db/plans/plans.ts';
import type { Deps } from '../../deps.ts';
import { demandBoundedPrices } from '../plans/bounded-prices.ts';
import { readCatalog, type CatalogText } from './load-catalog.ts';

/**
 * Replaces the whole catalog by that of these texts, in one transaction. Throws `CatalogError` if they are invalid, and `OperatorError` if
 * a price under a plan would be above the largest.
 */
export async function applyCatalog(
  { db }: Pick<Deps, 'db'>,
  { texts, actor }: { texts: readonly CatalogText[]; actor: string },
) {
  const { entries, warnings } = readCatalog(texts);
  for (const { name, rules } of await listPlans(db)) demandBoundedPrices(`the plan ${name}`, entries, rules);
  return { ...(await replaceCatalog(db, { entries, actor })), warnings };
}
