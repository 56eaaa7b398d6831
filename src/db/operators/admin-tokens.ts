import type { Page, PageRequest } from '../../domain/page.ts';
import type { Role } from '../../domain/operators/role.ts';
import type { Statements } from '../database.ts';
import { byTime, operatorPageText, pageOfRows, type ListOrder, type Positioned } from '../time-order.ts';
import { positionOf } from '../time-position-sql.ts';
import { unixSeconds } from '../unix-seconds.ts';

export const adminTokenStates = ['active', 'expired', 'revoked'] as const;

/** A token as operators see it. The token itself is not stored. */
export interface AdminTokenRow {
  tokenId: string;
  name: string;
  role: Role;
  state: (typeof adminTokenStates)[number];
  /** The first characters of the token. */
  prefix: string;
  last4: string;
  createdBy: string;
  /** Unix seconds, as all times here. */
  createdAt: number;
  expiresAt: number | null;
  revokedAt: number | null;
  lastUsedAt: number | null;
}

export interface NewAdminToken {
  tokenId: string;
  name: string;
  role: Role;
  digest: Buffer;
  pepperId: string;
  prefix: string;
  last4: string;
  createdBy: string;
  expiresAt: Date | null;
}

export async function insertAdminToken(inside: Statements, token: NewAdminToken): Promise<void> {
  await inside.query(
    'add-admin-token',
    `insert into admin_token (id, name, role, digest, pepper_id, prefix, last4, created_by, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      ...[token.tokenId, token.name, token.role, token.digest, token.pepperId, token.prefix, token.last4],
      ...[token.createdBy, token.expiresAt],
    ],
  );
}

/** One page of the tokens, by the time of their creation (`timePosition`). */
export async function listAdminTokens(
  database: Statements,
  { sort }: { sort: ListOrder },
  { limit, after }: PageRequest,
): Promise<Page<AdminTokenRow>> {
  const { from, order, values } = byTime('t', sort, after);
  const rows = await database.query<AdminTokenRow & Positioned>(
    `admin-tokens-${sort}`,
    operatorPageText(`select id as token_id, name, role, ${stateOfToken} as state, prefix, last4, created_by,
       ${unixSeconds('created_at')} as created_at, ${unixSeconds('expires_at')} as expires_at,
       ${unixSeconds('revoked_at')} as revoked_at, ${unixSeconds('last_used_at')} as last_used_at, ${positionOf('t')} as position
     from admin_token t where ${from} order by ${order} limit $3`),
    [...values, limit + 1],
  );
  return pageOfRows(rows, limit);
}

const stateOfToken = `case when revoked_at is not null then 'revoked' when expires_at <= clock_timestamp() then 'expired'
  else 'active' end`;

/** Revokes a token once and ends its sessions; null if there is no such token. */
export async function markAdminTokenRevoked(
  inside: Statements,
  tokenId: string,
): Promise<{ revokedAt: number; changed: boolean } | null> {
  const changed = await inside.returnsRow(
    'revoke-admin-token',
    `update admin_token set revoked_at = clock_timestamp() where id = $1 and revoked_at is null returning id`,
    [tokenId],
  );
  await inside.query('end-sessions-of-admin-token', 'delete from admin_session where token_id = $1', [tokenId]);
  const row = await inside.first<{ revokedAt: number }>(
    'admin-token-revoked-at',
    `select ${unixSeconds('revoked_at')} as revoked_at from admin_token where id = $1`,
    [tokenId],
  );
  return row && { revokedAt: row.revokedAt, changed };
}

/** The ids of the tokens of this name that are not revoked. */
export async function liveAdminTokensNamed(database: Statements, name: string): Promise<string[]> {
  const rows = await database.query<{ id: string }>(
    'live-admin-tokens-named',
    'select id from admin_token where name = $1 and revoked_at is null',
    [name],
  );
  return rows.map(({ id }) => id);
}
