import { recordAudit } from '../../db/audit.ts';
import { markKeyRevoked } from '../../db/keys.ts';
import type { Deps } from '../../deps.ts';
import { OperatorError } from '../operator-error.ts';

/**
 * Revokes a key permanently. From this commit on no request of it is admitted, but its running requests are still settled or
 * refunded. `revokedAt` is in unix seconds, and `changed` is false if the key was revoked before.
 */
export async function revokeKey({ db }: Pick<Deps, 'db'>, { keyId, actor }: { keyId: string; actor: string }) {
  const revoked = await markKeyRevoked(db, keyId);
  if (!revoked) throw new OperatorError(`There is no key ${keyId}.`);
  const { projectId, revokedAt, changed } = revoked;
  if (changed)
    await recordAudit(db, { actor, action: 'keys.revoke', subject: keyId, detail: { project_id: projectId } });
  return { keyId, revokedAt: Math.floor(revokedAt.getTime() / 1000), changed };
}
