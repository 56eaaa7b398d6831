import { readProjectSecret, replaceProjectSecret } from '../../db/projects/project-secret.ts';
import type { Deps } from '../../deps.ts';
import { SealError } from '../../platform/crypto/seal.ts';
import { callbackSecretContext, newWebhookSecret } from './callback-secret.ts';
import { OperatorError, UnknownToOperator } from '../operator-error.ts';

/** How long the old callback secret signs beside the new one: a day, so that a receiver can be changed in working hours. */
const overlapSeconds = 86_400;

type SecretDeps = Pick<Deps, 'db' | 'sealer'>;

export interface ProjectSecret {
  projectId: string;
  webhookSecret: string;
  /** The secret before, while both sign callbacks; null if only one signs. */
  previousSecret: string | null;
  /** When the previous secret ends, in unix seconds; null if no rotation overlaps. */
  previousUntil: number | null;
}

/**
 * The callback secret of a project, and the previous one while a rotation overlaps. Throws `OperatorError` for an unknown project
 * or a secret that no master key decrypts.
 */
export async function showProjectSecret({ db, sealer }: SecretDeps, projectId: string): Promise<ProjectSecret> {
  const stored = await readProjectSecret(db, projectId);
  if (!stored) throw new UnknownToOperator(`There is no project ${projectId}.`);
  const unseal = (sealed: string): string | null => {
    try {
      return sealer.open(sealed, callbackSecretContext(projectId));
    } catch (error) {
      if (error instanceof SealError) return null;
      throw error;
    }
  };
  const webhookSecret = unseal(stored.sealed);
  if (webhookSecret === null)
    throw new OperatorError(
      `The callback secret of ${projectId} cannot be decrypted with these MASTER_KEYS. Add the key that encrypted it, or create a new secret with "projects secret rotate".`,
    );
  return {
    projectId,
    webhookSecret,
    // A secret that cannot be decrypted does not sign.
    previousSecret: stored.sealedPrevious === null ? null : unseal(stored.sealedPrevious),
    previousUntil: stored.previousUntil,
  };
}

/**
 * Replaces the callback secret. Until the overlap ends, every callback is signed with both secrets, so that no receiver refuses it.
 * While an earlier rotation overlaps, throws `OperatorError` unless forced, because a third secret immediately ends the first.
 */
export async function rotateProjectSecret(
  deps: SecretDeps,
  { projectId, actor, force = false }: { projectId: string; actor: string; force?: boolean },
): Promise<ProjectSecret> {
  const sealed = deps.sealer.seal(newWebhookSecret(), callbackSecretContext(projectId));
  const isReplaced = await replaceProjectSecret(deps.db, { projectId, sealed, overlapSeconds, force, actor });
  if (!isReplaced) throw await whyNotRotated(deps, projectId);
  return showProjectSecret(deps, projectId);
}

async function whyNotRotated({ db }: SecretDeps, projectId: string): Promise<OperatorError> {
  const stored = await readProjectSecret(db, projectId);
  if (!stored) return new UnknownToOperator(`There is no project ${projectId}.`);
  if (stored.previousUntil === null)
    return new OperatorError(`The earlier rotation of ${projectId} has just ended. Run the command again.`);
  const until = new Date(stored.previousUntil * 1000).toISOString().replace('.000Z', 'Z');
  return new OperatorError(
    `The callback secret of ${projectId} was rotated already, and the previous secret also signs until ${until}. Rotate it after that time, or use --force to end the previous secret now.`,
  );
}
