import { recordAudit } from '../../db/audit.ts';
import { replaceModels } from '../../db/models.ts';
import type { Deps } from '../../deps.ts';
import { loadCatalog } from './load-catalog.ts';

export interface AppliedCatalog {
  added: string[];
  changed: string[];
  removed: string[];
  warnings: string[];
}

/** Checks the whole file, then makes the catalog exactly this, all or nothing. Throws `CatalogError` before any change. */
export async function applyCatalog(
  { db }: Pick<Deps, 'db'>,
  { file, actor }: { file: string; actor: string },
): Promise<AppliedCatalog> {
  const { entries, warnings } = await loadCatalog(file);
  const changes = await replaceModels(db, entries);
  const changed = changes.added.length + changes.changed.length + changes.removed.length > 0;
  if (changed) await recordAudit(db, { actor, action: 'catalog.apply', subject: 'catalog', detail: { ...changes } });
  return { ...changes, warnings };
}
