import { recordAudit } from '../../db/audit.ts';
import { readProjectSecret, replaceProjectSecret } from '../../db/projects.ts';
import type { Deps } from '../../deps.ts';
import { SealError } from '../../platform/crypto/seal.ts';
import { callbackSecretContext, newWebhookSecret } from './create-project.ts';
import { OperatorError } from '../operator-error.ts';

/** How long the old callback secret signs beside the new one: a day, so that a receiver can be changed in working hours. */
const overlapSeconds = 86_400;

type SecretDeps = Pick<Deps, 'config' | 'db' | 'sealer'>;

export interface ProjectSecret {
  projectId: string;
  webhookSecret: string;
  /** The one before, while both sign; null when none does. */
  previousSecret: string | null;
  /** Unix seconds, by the database's clock; null when no rotation overlaps. */
  previousUntil: number | null;
}

/**
 * The callback secret of a project, and the one it replaces while a rotation overlaps. Throws `OperatorError` for an unknown
 * project, and for a secret that no master key opens.
 */
export async function showProjectSecret({ db, sealer }: SecretDeps, projectId: string): Promise<ProjectSecret> {
  const stored = await readProjectSecret(db, projectId);
  if (!stored) throw new OperatorError(`There is no project ${projectId}.`);
  const open = (sealed: string): string | null => {
    try {
      return sealer.open(sealed, callbackSecretContext(projectId));
    } catch (error) {
      if (error instanceof SealError) return null;
      throw error;
    }
  };
  const webhookSecret = open(stored.sealed);
  if (webhookSecret === null)
    throw new OperatorError(
      `The callback secret of ${projectId} cannot be opened with these MASTER_KEYS. Bring back the one that sealed it, or make another by "projects secret rotate".`,
    );
  return {
    projectId,
    webhookSecret,
    // One that cannot be opened does not sign.
    previousSecret: stored.sealedPrevious === null ? null : open(stored.sealedPrevious),
    previousUntil: stored.previousUntil,
  };
}

/**
 * Makes a new callback secret. Until the overlap ends every callback is signed with both, so no receiver is cut off; for the
 * same reason it throws `OperatorError` while an earlier rotation overlaps, unless forced: a third secret would end the first at
 * once.
 */
export async function rotateProjectSecret(
  deps: SecretDeps,
  { projectId, actor, force = false }: { projectId: string; actor: string; force?: boolean },
): Promise<ProjectSecret> {
  const sealed = deps.sealer.seal(newWebhookSecret(), callbackSecretContext(projectId));
  const isReplaced = await replaceProjectSecret(deps.db, {
    projectId,
    sealed,
    overlapSeconds,
    force,
  });
  if (!isReplaced) throw new OperatorError(await whyNotRotated(deps, projectId));
  await recordAudit(deps.db, {
    actor,
    action: 'projects.secret.rotate',
    subject: projectId,
    ...(force && { detail: { forced: true } }),
  });
  return showProjectSecret(deps, projectId);
}

async function whyNotRotated({ db }: SecretDeps, projectId: string): Promise<string> {
  const stored = await readProjectSecret(db, projectId);
  if (!stored) return `There is no project ${projectId}.`;
  if (stored.previousUntil === null) return `The overlap of ${projectId} has just ended. Rotate it again.`;
  const until = new Date(stored.previousUntil * 1000).toISOString().replace('.000Z', 'Z');
  return `The callback secret of ${projectId} was rotated already, and the one before it signs beside it until ${until}. Rotate it after that, or say --force to end the one before at once.`;
}
