import { findOperator, insertOperator } from '../../db/operators/operators.ts';
import type { Deps } from '../../deps.ts';
import { personOf, type OidcIdentity } from '../../domain/operators/admin-access.ts';
import type { Role } from '../../domain/operators/role.ts';
import { newId } from '../../platform/crypto/ids.ts';
import { OperatorError } from '../operator-error.ts';

/** Lets a person sign in by OIDC with a role. Throws `OperatorError` if the person is entered already. */
export async function addOperator(
  { db }: Pick<Deps, 'db'>,
  { actor, ...person }: OidcIdentity & { name: string; role: Role; actor: string },
): Promise<{ operatorId: string }> {
  const operatorId = newId('opr');
  if (!(await insertOperator(db, { operatorId, ...person, createdBy: actor }))) {
    const existing = await findOperator(db, person);
    const is = `${personOf(person)} is entered already, as ${existing?.principalId} with the role ${existing?.role}.`;
    throw new OperatorError(`${is} To give another role, remove the operator first.`);
  }
  return { operatorId };
}
