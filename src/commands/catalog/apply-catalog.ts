import { recordAudit } from '../../db/audit.ts';
import { replaceModels } from '../../db/models.ts';
import type { Deps } from '../../deps.ts';
import { loadCatalog } from './load-catalog.ts';

/** Replaces the whole catalog by that of a file, in one transaction. Throws `CatalogError` if the file is invalid. */
export async function applyCatalog({ db }: Pick<Deps, 'db'>, { file, actor }: { file: string; actor: string }) {
  const { entries, warnings } = await loadCatalog(file);
  const changes = await replaceModels(db, entries);
  const changed = changes.added.length + changes.changed.length + changes.removed.length > 0;
  if (changed) await recordAudit(db, { actor, action: 'catalog.apply', subject: 'catalog', detail: { ...changes } });
  return { ...changes, warnings };
}
