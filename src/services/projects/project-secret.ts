import { readProjectSecret, rotateStoredSecret } from '../../db/projects/project-secret.ts';
import type { Deps } from '../../deps.ts';
import { secretOverlapSeconds } from '../../domain/projects/secret-overlap.ts';
import { SealError } from '../../platform/crypto/seal.ts';
import { callbackSecretContext, newWebhookSecret } from './callback-secret.ts';
import { demand, OperatorError, UnknownToOperator } from '../operator-error.ts';

type SecretDeps = Pick<Deps, 'db' | 'sealer'>;

export interface ProjectSecret {
  projectId: string;
  webhookSecret: string;
  /** Null unless both sign callbacks. */
  previousSecret: string | null;
  /** When the previous secret ends, in unix seconds; null if no rotation overlaps. */
  previousUntil: number | null;
}

/**
 * The callback secret of a project, and the previous one while a rotation overlaps. Throws `OperatorError` for an unknown project
 * or a secret that no master key decrypts.
 */
export async function showProjectSecret({ db, sealer }: SecretDeps, projectId: string): Promise<ProjectSecret> {
  const stored = demand(await readProjectSecret(db, projectId), `project ${projectId}`);
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
 * Makes a new callback secret. Until the overlap ends, every callback is signed with both secrets, so that no receiver refuses it.
 * While an earlier rotation overlaps, throws `OperatorError` unless forced, because a third secret immediately ends the first.
 */
export async function rotateProjectSecret(
  deps: SecretDeps,
  { projectId, actor, force = false }: { projectId: string; actor: string; force?: boolean },
): Promise<ProjectSecret> {
  const sealed = deps.sealer.seal(newWebhookSecret(), callbackSecretContext(projectId));
  const rotation = await rotateStoredSecret(deps.db, {
    projectId,
    sealed,
    overlapSeconds: secretOverlapSeconds,
    force,
    actor,
  });
  if (rotation.verdict === 'not_found') throw new UnknownToOperator(`There is no project ${projectId}.`);
  if (rotation.verdict === 'overlap') {
    const until = new Date(rotation.previousUntil * 1000).toISOString().replace('.000Z', 'Z');
    throw new OperatorError(
      `The callback secret of ${projectId} was rotated already, and the previous secret also signs until ${until}. Rotate it after that time, or use --force to end the previous secret now.`,
    );
  }
  return showProjectSecret(deps, projectId);
}
