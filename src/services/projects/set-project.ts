import { updateProjectSettings, type ProjectSettings } from '../../db/projects/project-settings.ts';
import type { Deps } from '../../deps.ts';
import { OperatorError, UnknownToOperator } from '../operator-error.ts';

/** Changes the given settings of a project, for requests that are admitted after it. Throws `OperatorError` if there is nothing to change. */
export async function setProject(
  { db }: Pick<Deps, 'db'>,
  { projectId, changes, actor }: { projectId: string; changes: Partial<ProjectSettings>; actor: string },
): Promise<ProjectSettings> {
  if (Object.keys(changes).length === 0) throw new OperatorError('Nothing to change: name at least one setting.');
  const settings = await updateProjectSettings(db, { projectId, changes, actor });
  if (!settings) throw new UnknownToOperator(`There is no project ${projectId}.`);
  return settings;
}
