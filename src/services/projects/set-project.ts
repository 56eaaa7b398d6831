import { updateProjectSettings, type ProjectSettings } from '../../db/projects/project-settings.ts';
import type { Config } from '../../config/load-config.ts';
import type { Deps } from '../../deps.ts';
import { EgressRefusal } from '../../platform/egress/check-url.ts';
import { urlCheckOf } from '../../platform/egress/egress.ts';
import { OperatorError, UnknownToOperator } from '../operator-error.ts';
import { unknownPlan } from '../plans/save-plan.ts';

/**
 * Changes the given settings of a project, for requests that are priced and admitted after it; what is held keeps its price. Throws
 * `OperatorError` if there is nothing to change, and for an unknown project or plan.
 */
export async function setProject(
  { db, config }: Pick<Deps, 'db'> & { config: Pick<Config, 'egress'> },
  { projectId, changes, actor }: { projectId: string; changes: Partial<ProjectSettings>; actor: string },
): Promise<ProjectSettings> {
  if (Object.keys(changes).length === 0) throw new OperatorError('Nothing to change: name at least one setting.');
  if (changes.alertUrl != null) changes = { ...changes, alertUrl: checkedUrl(config, changes.alertUrl) };
  const updated = await updateProjectSettings(db, { projectId, changes, actor });
  if (updated === 'unknown_project') throw new UnknownToOperator(`There is no project ${projectId}.`);
  if (updated === 'unknown_plan') throw unknownPlan(changes.plan ?? '');
  return updated;
}

function checkedUrl({ egress }: Pick<Config, 'egress'>, url: string): string {
  try {
    return urlCheckOf(egress)(url, 'callback').href;
  } catch (error) {
    if (error instanceof EgressRefusal) throw new OperatorError(`alert_url ${error.message}.`, { cause: error });
    throw error;
  }
}
