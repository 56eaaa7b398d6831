import { moveImportedCredits, renameProject } from '../../db/imports/import-changes.ts';
import { noteImportedSettings } from '../../db/imports/import-items.ts';
import { updateProjectSettings } from '../../db/projects/project-settings.ts';
import { switchProject } from '../../db/projects/projects.ts';
import type { KeyLimits } from '../../db/projects/keys.ts';
import type { ImportedKey, ImportedOwner } from '../../domain/imports/imported.ts';
import { setKey } from '../projects/set-key.ts';
import { OperatorError } from '../operator-error.ts';
import { keyLimitsOf, type ImportDeps, type ImportRun } from './import-run.ts';
import { keySettings, ownerSettings, type Changed } from './import-plan.ts';

/** Makes the changes of owners since the last import. Only what changed there is changed here. */
export async function changeImportedOwners(
  { db }: ImportDeps,
  { source, actor, progress }: ImportRun,
  changed: readonly Changed<ImportedOwner>[],
): Promise<void> {
  for (const [index, { original: owner, item, settings, creditsChanged }] of changed.entries()) {
    const { id: externalId, credits, name, metadata, enabled, overdraft } = owner;
    const projectId = item.internalId;
    if (creditsChanged) await moveImportedCredits(db, { source, kind: 'project', externalId, credits, actor });
    if (settings.includes('name') || settings.includes('metadata'))
      await renameProject(db, { projectId, name, metadata, actor });
    if (settings.includes('enabled')) await switchProject(db, { projectId, enabled, actor });
    if (settings.includes('overdraft')) await updateProjectSettings(db, { projectId, changes: { overdraft }, actor });
    if (settings.length > 0)
      await noteImportedSettings(db, { source, kind: 'project', externalId, settings: ownerSettings(owner) });
    progress(`${index + 1} of ${changed.length} changed projects`);
  }
}

/** The same of keys. A key that was revoked here stays revoked. */
export async function changeImportedKeys(
  deps: ImportDeps,
  { source, actor, progress }: ImportRun,
  changed: readonly Changed<ImportedKey>[],
): Promise<void> {
  for (const [index, { original: key, item, settings, creditsChanged }] of changed.entries()) {
    const { id: externalId, budget: credits } = key;
    if (creditsChanged) await moveImportedCredits(deps.db, { source, kind: 'key', externalId, credits, actor });
    const changes = changedLimits(deps, key, settings);
    if (Object.keys(changes).length > 0) {
      await setKey(deps, { keyId: item.internalId, changes, actor }).catch((error: unknown) => {
        if (!(error instanceof OperatorError)) throw error;
      });
    }
    if (settings.length > 0)
      await noteImportedSettings(deps.db, { source, kind: 'key', externalId, settings: keySettings(key) });
    progress(`${index + 1} of ${changed.length} changed keys`);
  }
}

/** The limits here of what changed there. */
function changedLimits(deps: ImportDeps, key: ImportedKey, settings: readonly string[]): Partial<KeyLimits> {
  const { name, metadata, ipRanges, models, budgetDaily, budgetMonthly } = key;
  const limits = { name, metadata, ipRanges, models, budgetDaily, budgetMonthly, ...keyLimitsOf(deps, key) };
  const changed = settings.map((setting) => (setting === 'enabled' ? 'expiresAt' : setting));
  return Object.fromEntries(Object.entries(limits).filter(([limit]) => changed.includes(limit)));
}
