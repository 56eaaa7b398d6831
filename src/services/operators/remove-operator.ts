import { deleteOperator } from '../../db/operators/operators.ts';
import type { Deps } from '../../deps.ts';
import type { OidcIdentity } from '../../domain/operators/admin-access.ts';
import { demand } from '../operator-error.ts';

/**
 * Removes a person who may sign in by OIDC, and ends its sessions and its playground keys. No request of it is accepted after this
 * commit. Throws `OperatorError` for an unknown id.
 */
export async function removeOperator(
  { db }: Pick<Deps, 'db'>,
  { operatorId, actor }: { operatorId: string; actor: string },
): Promise<OidcIdentity & { operatorId: string }> {
  const removed = demand(await deleteOperator(db, { operatorId, actor }), `operator ${operatorId}`);
  return { operatorId, ...removed };
}
