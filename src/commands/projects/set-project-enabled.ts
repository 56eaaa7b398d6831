import { recordAudit } from '../../db/audit.ts';
import { switchProject } from '../../db/projects.ts';
import type { Deps } from '../../deps.ts';
import { OperatorError } from '../operator-error.ts';

/**
 * Enables or disables a project. While it is disabled, no request of its keys is admitted, but running requests continue and are
 * settled. `changed` is false if the project was in that state before.
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
