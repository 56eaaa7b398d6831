import { recordAudit } from '../../db/operators/audit.ts';
import { switchProject } from '../../db/projects/projects.ts';
import type { Deps } from '../../deps.ts';
import { UnknownToOperator } from '../operator-error.ts';

/**
 * Enables or disables a project. While it is disabled, no request of its keys is admitted, but running requests continue and are
 * settled. `changed` is false if the project was in that state before.
 */
export async function setProjectEnabled(
  { db }: Pick<Deps, 'db'>,
  { projectId, enabled, actor }: { projectId: string; enabled: boolean; actor: string },
): Promise<{ projectId: string; changed: boolean }> {
  const action = enabled ? 'projects.enable' : 'projects.disable';
  const changed = await db.entities(async (em) => {
    const switched = await switchProject(em, projectId, enabled);
    const [before, after] = enabled ? ['disabled', 'active'] : ['active', 'disabled'];
    if (switched) {
      const change = { before: { status: before }, after: { status: after } };
      await recordAudit(em, { actor, action, subject: projectId, ...change });
    }
    return switched;
  });
  if (changed === null) throw new UnknownToOperator(`There is no project ${projectId}.`);
  return { projectId, changed };
}
