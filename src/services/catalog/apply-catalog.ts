import { replaceCatalog } from '../../db/catalog/models.ts';
import type { Deps } from '../../deps.ts';
import { readCatalog, type CatalogText } from './load-catalog.ts';

/** Replaces the whole catalog by that of these texts, in one transaction. Throws `CatalogError` if they are invalid. */
export async function applyCatalog(
  { db }: Pick<Deps, 'db'>,
  { texts, actor }: { texts: readonly CatalogText[]; actor: string },
) {
  const { entries, warnings } = readCatalog(texts);
  return { ...(await replaceCatalog(db, { entries, actor })), warnings };
}
