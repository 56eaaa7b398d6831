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
  const changed = await switchProject(db, { projectId, enabled, actor });
  if (changed === null) throw new UnknownToOperator(`There is no project ${projectId}.`);
  return { projectId, changed };
}
