import type { AdminAccess, OidcIdentity } from '../../domain/operators/admin-access.ts';
import type { Page } from '../../domain/page.ts';
import type { Role } from '../../domain/operators/role.ts';
import type { Database, Statements } from '../database.ts';
import { revokePlaygroundKeys } from '../projects/playground-keys.ts';
import { inOrder, operatorPageText, pageOfRows, type ListRequest, type Positioned } from '../list-order.ts';
import { unixSeconds } from '../unix-seconds.ts';
import { recordAudit } from './audit.ts';

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
export const insertOperator = (
  database: Database,
  { operatorId, createdBy, ...person }: NewOperator,
): Promise<boolean> =>
  database.transaction('begin', async (_query, inside) => {
    const { issuer, subject, name, role } = person;
    const isNew = await inside.returnsRow(
      'add-operator',
      `insert into admin_operator (id, issuer, subject, name, role, created_by) values ($1, $2, $3, $4, $5, $6)
       on conflict (issuer, subject) do nothing returning id`,
      [operatorId, issuer, subject, name, role, createdBy],
    );
    if (!isNew) return false;
    const change = { before: null, after: { issuer, subject, name, role } };
    await recordAudit(inside, { actor: createdBy, action: 'operators.add', subject: operatorId, ...change });
    return true;
  });

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
export async function listOperators(database: Statements, request: ListRequest): Promise<Page<OperatorRow>> {
  const values: unknown[] = [request.limit + 1];
  const { where, order, position } = inOrder('o', operatorColumns, request, values);
  const rows = await database.query<OperatorRow & Positioned>(
    `operators-${request.sort}`,
    operatorPageText(`select id as operator_id, issuer, subject, name, role, created_by, ${unixSeconds('created_at')} as created_at,
       ${unixSeconds('last_used_at')} as last_used_at, ${position} as position
     from admin_operator o where ${where} order by ${order} limit $1::int`),
    values,
  );
  return pageOfRows(rows, request.limit);
}

/** The columns of the list of operators that it can be sorted by. */
export const operatorColumns = {
  operator_id: 'o.id',
  issuer: 'o.issuer',
  subject: 'o.subject',
  name: 'o.name',
  role: 'o.role',
  created_by: 'o.created_by',
  created_at: { time: 'o.created_at' },
  last_used_at: { time: 'o.last_used_at' },
} as const;

/** Deletes an operator with its sessions, and revokes its playground keys; null if there is none with this id. */
export const deleteOperator = (
  database: Database,
  { operatorId, actor }: { operatorId: string; actor: string },
): Promise<OidcIdentity | null> =>
  database.transaction('begin', async (_query, inside) => {
    const removed = await inside.first<Pick<OperatorRow, 'issuer' | 'subject' | 'name' | 'role'>>(
      'remove-operator',
      'delete from admin_operator where id = $1 returning issuer, subject, name, role',
      [operatorId],
    );
    if (!removed) return null;
    await revokePlaygroundKeys(inside, { principalId: operatorId, actor });
    await recordAudit(inside, { actor, action: 'operators.remove', subject: operatorId, before: removed, after: null });
    const { issuer, subject } = removed;
    return { issuer, subject };
  });
