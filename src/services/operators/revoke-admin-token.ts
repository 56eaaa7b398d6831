import { markAdminTokenRevoked } from '../../db/operators/admin-tokens.ts';
import type { Deps } from '../../deps.ts';
import { demand } from '../operator-error.ts';

/**
 * Revokes an admin token and ends its sessions and its playground keys. No request of it is accepted after this commit. `revokedAt` is in
 * unix seconds, and `changed` is false if the token was revoked before.
 */
export async function revokeAdminToken(
  { db }: Pick<Deps, 'db'>,
  { tokenId, actor }: { tokenId: string; actor: string },
): Promise<{ tokenId: string; revokedAt: number; changed: boolean }> {
  const revoked = demand(await markAdminTokenRevoked(db, { tokenId, actor }), `admin token ${tokenId}`);
  return { tokenId, ...revoked };
}
