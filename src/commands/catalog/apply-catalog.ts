import { recordAudit } from '../../db/audit.ts';
import { replaceModels } from '../../db/models.ts';
import type { Deps } from '../../deps.ts';
import { readCatalog, type CatalogText } from './load-catalog.ts';

/** Replaces the whole catalog by that of these texts, in one transaction. Throws `CatalogError` if they are invalid. */
export async function applyCatalog(
  { db }: Pick<Deps, 'db'>,
  { texts, actor }: { texts: readonly CatalogText[]; actor: string },
) {
  const { entries, warnings } = readCatalog(texts);
  const changes = await db.transaction('begin', async (query, inside) => {
    const detail = await replaceModels(query, entries);
    const changed = detail.added.length + detail.changed.length + detail.removed.length > 0;
    if (changed) await recordAudit(inside, { actor, action: 'catalog.apply', subject: 'catalog', detail });
    return detail;
  });
  return { ...changes, warnings };
}
