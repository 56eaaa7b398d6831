import { recordAudit } from '../../db/operators/audit.ts';
import { deleteOperator } from '../../db/operators/operators.ts';
import type { Deps } from '../../deps.ts';
import type { OidcIdentity } from '../../domain/operators/admin-access.ts';
import { UnknownToOperator } from '../operator-error.ts';
import { endPlaygroundKeys } from './playground-key.ts';

/**
 * Removes a person who may sign in by OIDC, and ends its sessions and its playground keys. No request of it is accepted after this
 * commit. Throws `OperatorError` for an unknown id.
 */
export async function removeOperator(
  { db }: Pick<Deps, 'db'>,
  { operatorId, actor }: { operatorId: string; actor: string },
): Promise<OidcIdentity & { operatorId: string }> {
  return db.transaction('begin', async (_query, inside) => {
    const removed = await deleteOperator(inside, operatorId);
    if (!removed) throw new UnknownToOperator(`There is no operator ${operatorId}.`);
    await endPlaygroundKeys(inside, { principalId: operatorId, actor });
    await recordAudit(inside, { actor, action: 'operators.remove', subject: operatorId, before: removed, after: null });
    const { issuer, subject } = removed;
    return { operatorId, issuer, subject };
  });
}
