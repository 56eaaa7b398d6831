import { recordAudit } from '../../db/operators/audit.ts';
import { listModels, replaceModels } from '../../db/catalog/models.ts';
import type { Deps } from '../../deps.ts';
import { catalogChanges } from './catalog-changes.ts';
import { readCatalog, type CatalogText } from './load-catalog.ts';

/** Replaces the whole catalog by that of these texts, in one transaction. Throws `CatalogError` if they are invalid. */
export async function applyCatalog(
  { db }: Pick<Deps, 'db'>,
  { texts, actor }: { texts: readonly CatalogText[]; actor: string },
) {
  const { entries, warnings } = readCatalog(texts);
  const changes = await db.transaction('begin', async (query, inside) => {
    const earlier = await listModels(inside);
    const replaced = await replaceModels(query, entries);
    if (replaced.added.length + replaced.changed.length + replaced.removed.length > 0) {
      const { before, after, membersOmitted } = catalogChanges(earlier, entries);
      await recordAudit(inside, {
        actor,
        action: 'catalog.apply',
        subject: 'catalog',
        before,
        after,
        detail: { ...replaced, ...(membersOmitted > 0 && { membersOmitted }) },
      });
    }
    return replaced;
  });
  return { ...changes, warnings };
}
