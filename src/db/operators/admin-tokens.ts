import type { Page } from '../../domain/page.ts';
import type { Role } from '../../domain/operators/role.ts';
import type { Database, Statements } from '../database.ts';
import { revokePlaygroundKeys } from '../projects/playground-keys.ts';
import { inOrder, operatorPageText, pageOfRows, type ListRequest, type Positioned } from '../list-order.ts';
import { unixSeconds } from '../unix-seconds.ts';
import { recordAudit } from './audit.ts';

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

export const insertAdminToken = (database: Database, token: NewAdminToken): Promise<void> =>
  database.transaction('begin', async (query, inside) => {
    const { tokenId, name, role, createdBy, expiresAt } = token;
    await query(
      'add-admin-token',
      `insert into admin_token (id, name, role, digest, pepper_id, prefix, last4, created_by, expires_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      [tokenId, name, role, token.digest, token.pepperId, token.prefix, token.last4, createdBy, expiresAt],
    );
    const after = { name, role, expiresAt };
    await recordAudit(inside, {
      actor: createdBy,
      action: 'admin_tokens.create',
      subject: tokenId,
      before: null,
      after,
    });
  });

/** One page of the tokens. */
export async function listAdminTokens(database: Statements, request: ListRequest): Promise<Page<AdminTokenRow>> {
  const values: unknown[] = [request.limit + 1];
  const { where, order, position } = inOrder('t', adminTokenColumns, request, values);
  const rows = await database.query<AdminTokenRow & Positioned>(
    `admin-tokens-${request.sort}`,
    operatorPageText(`select id as token_id, name, role, ${stateOfToken} as state, prefix, last4, created_by,
       ${unixSeconds('created_at')} as created_at, ${unixSeconds('expires_at')} as expires_at,
       ${unixSeconds('revoked_at')} as revoked_at, ${unixSeconds('last_used_at')} as last_used_at, ${position} as position
     from admin_token t where ${where} order by ${order} limit $1::int`),
    values,
  );
  return pageOfRows(rows, request.limit);
}

const stateOfToken = `case when revoked_at is not null then 'revoked' when expires_at <= clock_timestamp() then 'expired'
  else 'active' end`;

/** The columns of the list of tokens that it can be sorted by. */
export const adminTokenColumns = {
  token_id: 't.id',
  name: 't.name',
  role: 't.role',
  state: stateOfToken,
  prefix: 't.prefix',
  last4: 't.last4',
  created_by: 't.created_by',
  created_at: { time: 't.created_at' },
  expires_at: { time: 't.expires_at' },
  revoked_at: { time: 't.revoked_at' },
  last_used_at: { time: 't.last_used_at' },
} as const;

/** Revokes a token once, and ends its sessions and its playground keys; null if there is no such token. */
export const markAdminTokenRevoked = (
  database: Database,
  { tokenId, actor }: { tokenId: string; actor: string },
): Promise<{ revokedAt: number; changed: boolean } | null> =>
  database.transaction('begin', async (query, inside) => {
    const changed = await inside.returnsRow(
      'revoke-admin-token',
      `update admin_token set revoked_at = clock_timestamp() where id = $1 and revoked_at is null returning id`,
      [tokenId],
    );
    await query('end-sessions-of-admin-token', 'delete from admin_session where token_id = $1', [tokenId]);
    const row = await inside.first<{ revokedAt: number }>(
      'admin-token-revoked-at',
      `select ${unixSeconds('revoked_at')} as revoked_at from admin_token where id = $1`,
      [tokenId],
    );
    if (!row) return null;
    const { revokedAt } = row;
    if (changed) {
      await revokePlaygroundKeys(inside, { principalId: tokenId, actor });
      await recordAudit(inside, {
        actor,
        action: 'admin_tokens.revoke',
        subject: tokenId,
        before: { revokedAt: null },
        after: { revokedAt },
      });
    }
    return { revokedAt, changed };
  });

/** The ids of the tokens of this name that are not revoked. */
export async function liveAdminTokensNamed(database: Statements, name: string): Promise<string[]> {
  const rows = await database.query<{ id: string }>(
    'live-admin-tokens-named',
    'select id from admin_token where name = $1 and revoked_at is null',
    [name],
  );
  return rows.map(({ id }) => id);
}
