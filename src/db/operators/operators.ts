import type { AdminAccess, OidcIdentity } from '../../domain/operators/admin-access.ts';
import type { Page, PageRequest } from '../../domain/page.ts';
import type { Role } from '../../domain/operators/role.ts';
import type { Statements } from '../database.ts';
import { byTime, operatorPageText, pageOfRows, type ListOrder, type Positioned } from '../time-order.ts';
import { positionOf } from '../time-position-sql.ts';
import { unixSeconds } from '../unix-seconds.ts';

export interface OperatorRow extends OidcIdentity {
  operatorId: string;
  name: string;
  role: Role;
  createdBy: string;
  /** Unix seconds, as all times here. */
  createdAt: number;
  lastUsedAt: number | null;
}

export type NewOperator = Pick<OperatorRow, 'operatorId' | 'issuer' | 'subject' | 'name' | 'role' | 'createdBy'>;

/** Enters a person; false if the pair of issuer and subject is entered already. */
export const insertOperator = (inside: Statements, operator: NewOperator): Promise<boolean> =>
  inside.returnsRow(
    'add-operator',
    `insert into admin_operator (id, issuer, subject, name, role, created_by) values ($1, $2, $3, $4, $5, $6)
     on conflict (issuer, subject) do nothing returning id`,
    [operator.operatorId, operator.issuer, operator.subject, operator.name, operator.role, operator.createdBy],
  );

/** What the person may do who signs in by OIDC with this pair; null if no owner entered the pair. */
export async function findOperator(inside: Statements, identity: OidcIdentity): Promise<AdminAccess | null> {
  const row = await inside.first<Pick<AdminAccess, 'principalId' | 'name' | 'role'>>(
    'find-operator',
    'select id as principal_id, name, role from admin_operator where issuer = $1 and subject = $2',
    [identity.issuer, identity.subject],
  );
  return row && { ...row, identity, expiresAt: null };
}

/** One page of the operators, by the time of their entry (`timePosition`). */
export async function listOperators(
  database: Statements,
  { sort }: { sort: ListOrder },
  { limit, after }: PageRequest,
): Promise<Page<OperatorRow>> {
  const { from, order, values } = byTime('o', sort, after);
  const rows = await database.query<OperatorRow & Positioned>(
    `operators-${sort}`,
    operatorPageText(`select id as operator_id, issuer, subject, name, role, created_by, ${unixSeconds('created_at')} as created_at,
       ${unixSeconds('last_used_at')} as last_used_at, ${positionOf('o')} as position
     from admin_operator o where ${from} order by ${order} limit $3`),
    [...values, limit + 1],
  );
  return pageOfRows(rows, limit);
}

/** Deletes an operator with its sessions; null if there is none with this id. */
export const deleteOperator = (
  inside: Statements,
  operatorId: string,
): Promise<Pick<OperatorRow, 'issuer' | 'subject' | 'name' | 'role'> | null> =>
  inside.first('remove-operator', 'delete from admin_operator where id = $1 returning issuer, subject, name, role', [
    operatorId,
  ]);
