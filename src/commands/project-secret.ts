import { recordAudit } from '../db/audit.ts';
import { Project } from '../db/entities/index.ts';
import type { Deps } from '../deps.ts';
import { callbackSecretContext, newWebhookSecret } from './create-project.ts';
import { OperatorError } from './operator-error.ts';

type SecretDeps = Pick<Deps, 'config' | 'db' | 'sealer'>;

export interface ProjectSecret {
  projectId: string;
  webhookSecret: string;
  /** The one before, while both sign; null when none does. */
  previousSecret: string | null;
  previousUntil: Date | null;
}

/** The callback secret of a project, and the one it replaces while a rotation overlaps. */
export async function showProjectSecret({ db, sealer }: SecretDeps, projectId: string): Promise<ProjectSecret> {
  const project = await db.orm.em.fork().findOne(Project, { id: projectId });
  if (!project) throw new OperatorError(`There is no project ${projectId}.`);
  const context = callbackSecretContext(projectId);
  const until = project.callbackSecretPreviousUntil ?? null;
  const overlaps = until !== null && until.getTime() > Date.now() && typeof project.callbackSecretPrevious === 'string';
  return {
    projectId,
    webhookSecret: sealer.open(project.callbackSecret, context),
    previousSecret: overlaps ? sealer.open(project.callbackSecretPrevious ?? '', context) : null,
    previousUntil: overlaps ? until : null,
  };
}

/** Makes a new callback secret. Until the overlap ends every callback is signed with both, so no receiver is cut off. */
export async function rotateProjectSecret(
  deps: SecretDeps,
  { projectId, actor }: { projectId: string; actor: string },
): Promise<ProjectSecret> {
  const sealed = deps.sealer.seal(newWebhookSecret(), callbackSecretContext(projectId));
  const rows = await deps.db.query(
    {
      name: 'rotate-project-secret',
      text: `update project set callback_secret_previous = callback_secret, callback_secret = $2,
               callback_secret_previous_until = clock_timestamp() + make_interval(secs => $3)
             where id = $1 returning 1`,
    },
    [projectId, sealed, deps.config.CALLBACK_SECRET_OVERLAP_SECONDS],
  );
  if (rows.length === 0) throw new OperatorError(`There is no project ${projectId}.`);
  await recordAudit(deps.db, { actor, action: 'projects.secret.rotate', subject: projectId });
  return showProjectSecret(deps, projectId);
}
