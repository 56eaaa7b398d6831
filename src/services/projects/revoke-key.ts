import { recordAudit } from '../../db/operators/audit.ts';
import { markKeyRevoked } from '../../db/projects/keys.ts';
import type { Deps } from '../../deps.ts';
import { UnknownToOperator } from '../operator-error.ts';

/**
 * Revokes a key permanently. From this commit on no request of it is admitted, but its running requests are still settled or
 * refunded. `revokedAt` is in unix seconds, and `changed` is false if the key was revoked before.
 */
export async function revokeKey({ db }: Pick<Deps, 'db'>, { keyId, actor }: { keyId: string; actor: string }) {
  const revoked = await db.entities(async (em) => {
    const marked = await markKeyRevoked(em, keyId);
    if (marked?.changed) {
      await recordAudit(em, {
        ...{ actor, action: 'keys.revoke', subject: keyId },
        before: { revokedAt: null },
        after: { revokedAt: marked.revokedAt },
        detail: { projectId: marked.projectId },
      });
    }
    return marked;
  });
  if (!revoked) throw new UnknownToOperator(`There is no key ${keyId}.`);
  const { revokedAt, changed } = revoked;
  return { keyId, revokedAt: Math.floor(revokedAt.getTime() / 1000), changed };
}
