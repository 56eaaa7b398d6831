import { recordAudit } from '../../db/audit.ts';
import { switchProject } from '../../db/projects.ts';
import type { Deps } from '../../deps.ts';
import { OperatorError } from '../operator-error.ts';

/**
 * Closes a project to its clients, or opens it again. From this commit on none of its keys is admitted; what runs goes on
 * and is settled. False when it was so before.
 */
export async function setProjectEnabled(
  { db }: Pick<Deps, 'db'>,
  { projectId, enabled, actor }: { projectId: string; enabled: boolean; actor: string },
): Promise<{ projectId: string; changed: boolean }> {
  const changed = await switchProject(db, projectId, enabled);
  if (changed === null) throw new OperatorError(`There is no project ${projectId}.`);
  if (changed)
    await recordAudit(db, { actor, action: enabled ? 'projects.enable' : 'projects.disable', subject: projectId });
  return { projectId, changed };
}
