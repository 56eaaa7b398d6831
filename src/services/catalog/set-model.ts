import { replaceCatalog } from '../../db/catalog/models.ts';
import { listPlans } from '../../db/plans/plans.ts';
import type { Deps } from '../../deps.ts';
import type { CatalogEntry } from '../../domain/catalog/catalog.ts';
import { OperatorError, UnknownToOperator } from '../operator-error.ts';
import { demandBoundedPrices } from '../plans/bounded-prices.ts';
import { checkCatalogNames } from './check-catalog-entry.ts';
import { demandVersion, versionOfEntry } from './entry-version.ts';
import { CatalogError } from './catalog-error.ts';
import { readCatalogEntry } from './load-catalog.ts';

/**
 * Replaces the entry of one model, whose other models stay. With `version` only if the model still is what had that version. Throws `CatalogError`
 * if the entry is invalid or has a name of another model, `UnknownToOperator` for an unknown model, `version_conflict`, and `OperatorError` for
 * another id and for a price under a plan that would be above the largest.
 */
export async function setModel(
  { db }: Pick<Deps, 'db'>,
  { model: id, text, version, actor }: { model: string; text: string; version?: string | undefined; actor: string },
): Promise<{ changed: boolean; entry: CatalogEntry; warnings: string[] }> {
  const { entry, warnings } = readCatalogEntry(text);
  if (entry.model.id !== id) throw new OperatorError(`The entry is that of ${entry.model.id}, not of ${id}.`);
  for (const { name, rules } of await listPlans(db)) demandBoundedPrices(`the plan ${name}`, [entry], rules);
  const next = (earlier: CatalogEntry[]): CatalogEntry[] => {
    const present = earlier.find(({ model }) => model.id === id);
    if (!present) throw new UnknownToOperator(`The catalog has no model ${id}.`);
    demandVersion(id, { based: version, present: versionOfEntry(present) });
    const entries = earlier.map((each) => (each === present ? entry : each));
    const problems = checkCatalogNames(entries);
    if (problems.length > 0) throw new CatalogError(problems);
    return entries;
  };
  const { changed } = await replaceCatalog(db, { next, actor, action: 'catalog.set', subject: id });
  return { changed: changed.length > 0, entry, warnings };
}
