import { recordAudit } from '../../db/audit.ts';
import { markKeyRevoked } from '../../db/keys.ts';
import type { Deps } from '../../deps.ts';
import { OperatorError } from '../operator-error.ts';

export interface RevokedKey {
  keyId: string;
  /** Unix seconds. */
  revokedAt: number;
  /** False when it had been revoked before. */
  changed: boolean;
}

/** Ends a key for good: from this commit on it is admitted nowhere. Credits that it holds are still settled or given back. */
export async function revokeKey(
  { db }: Pick<Deps, 'db'>,
  { keyId, actor }: { keyId: string; actor: string },
): Promise<RevokedKey> {
  const revoked = await markKeyRevoked(db, keyId);
  if (!revoked) throw new OperatorError(`There is no key ${keyId}.`);
  const { projectId, revokedAt, changed } = revoked;
  if (changed)
    await recordAudit(db, { actor, action: 'keys.revoke', subject: keyId, detail: { project_id: projectId } });
  return { keyId, revokedAt: Math.floor(revokedAt.getTime() / 1000), changed };
}
