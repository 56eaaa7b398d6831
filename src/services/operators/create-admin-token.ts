import { insertAdminToken } from '../../db/operators/admin-tokens.ts';
import type { Deps } from '../../deps.ts';
import type { Role } from '../../domain/operators/role.ts';
import { generateAdminToken } from '../../platform/crypto/api-key.ts';
import { newId } from '../../platform/crypto/ids.ts';
import { storedFormOf } from '../projects/new-secret-row.ts';

/** Creates a token for the admin API. Only here is it returned, because only its digest is stored. */
export async function createAdminToken(
  { db, config }: Pick<Deps, 'db' | 'config'>,
  { actor, name, role, expiresAt }: { actor: string; name: string; role: Role; expiresAt: Date | null },
): Promise<{ tokenId: string; token: string }> {
  const tokenId = newId('atk');
  const token = generateAdminToken();
  const stored = storedFormOf(config.secrets, token);
  await insertAdminToken(db, { tokenId, name, role, expiresAt, createdBy: actor, ...stored });
  return { tokenId, token };
}
