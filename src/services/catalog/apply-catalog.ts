import { listModels, replaceCatalog } from '../../db/catalog/models.ts';
import type { Config } from '../../config/load-config.ts';
import { listPlans } from '../../db/plans/plans.ts';
import type { Deps } from '../../deps.ts';
import type { CatalogEntry } from '../../domain/catalog/catalog.ts';
import { comparedCatalogs } from '../../domain/catalog/catalog-changes.ts';
import { isOffered } from '../../domain/catalog/model-list.ts';
import { dearPrices, ratioMax } from '../../domain/catalog/price-ratios.ts';
import { money } from '../../domain/ledger/money.ts';
import { creditValueOf } from '../ledger/credit-value.ts';
import { demandBoundedPrices } from '../plans/bounded-prices.ts';
import { demandVersion, versionOfCatalog } from './entry-version.ts';
import { readCatalog, type CatalogText } from './load-catalog.ts';

/**
 * Replaces the whole catalog by that of these texts, in one transaction. Throws `CatalogError` if they are invalid, `OperatorError` if
 * a price under a plan would be above the largest, and `version_conflict` if `version` is not that of the present catalog.
 */
export async function applyCatalog(
  { db, config }: Pick<Deps, 'db'> & { config: Pick<Config, 'accounting'> },
  { texts, version, actor }: { texts: readonly CatalogText[]; version?: string | undefined; actor: string },
) {
  const { entries, warnings } = readCatalog(texts);
  for (const { name, rules } of await listPlans(db)) demandBoundedPrices(`the plan ${name}`, entries, rules);
  const dear = dearWarning(entries, await creditValueOf({ db, config }));
  const next = (earlier: CatalogEntry[]): CatalogEntry[] => {
    demandVersion('The catalog', { based: version, present: versionOfCatalog(earlier) });
    return entries;
  };
  const replaced = await replaceCatalog(db, { next, actor, action: 'catalog.apply', subject: 'catalog' });
  return { ...replaced, warnings: [...warnings, ...dear] };
}

/** What applying these texts would change, without changing anything. Throws as `applyCatalog` does. */
export async function previewCatalog(
  { db, config }: Pick<Deps, 'db'> & { config: Pick<Config, 'accounting'> },
  { texts }: { texts: readonly CatalogText[] },
) {
  const { entries, warnings } = readCatalog(texts);
  for (const { name, rules } of await listPlans(db)) demandBoundedPrices(`the plan ${name}`, entries, rules);
  const present = await listModels(db);
  const dear = dearWarning(entries, await creditValueOf({ db, config }));
  return {
    ...comparedCatalogs(present, entries),
    version: versionOfCatalog(present),
    warnings: [...warnings, ...dear],
  };
}

/** The shipped catalog is for credits of a millionth of a dollar. An installation of 0.2.0 keeps its own. */
function dearWarning(entries: readonly CatalogEntry[], creditValue: number): string[] {
  const offered = entries.filter(isOffered);
  const dear = offered.filter((entry) => dearPrices(entry, creditValue).length > 0);
  if (2 * dear.length <= offered.length) return [];
  return [
    `${dear.length} of ${offered.length} models are sold for more than ${ratioMax} times their cost. A credit is worth ${money(creditValue, '$')} here: ` +
      'are these prices for another value? `tollgate catalog reprice` prices a catalog from its costs.',
  ];
}
