import { recordAudit } from '../../db/audit.ts';
import { deleteAdminSession, findByAdminSession, findByAdminToken, insertAdminSession } from '../../db/admin-access.ts';
import type { Deps } from '../../deps.ts';
import { actorOf, type AdminAccess } from '../../domain/admin-access.ts';
import { adminTokenPrefix, digestApiKey, generateSessionSecret } from '../../platform/crypto/api-key.ts';

/** A session lasts for half a day, so that nobody signs in twice in working hours. */
export const sessionSeconds = 43_200;

export type AccessDeps = Pick<Deps, 'db' | 'config'>;

/** The holder of an admin token; null if the token is unknown, expired or revoked. */
export const accessByToken = async (deps: AccessDeps, token: string): Promise<AdminAccess | null> =>
  token.startsWith(adminTokenPrefix) ? findByAdminToken(deps.db, digestsOf(deps, token)) : null;

/** The holder of a session; null if it has ended. */
export const accessBySession = (deps: AccessDeps, session: string): Promise<AdminAccess | null> =>
  findByAdminSession(deps.db, digestsOf(deps, session));

/** Begins a session of a token's holder. Only the digest of the returned secret is stored. */
export async function beginSession(
  deps: AccessDeps,
  access: AdminAccess,
): Promise<{ session: string; expiresAt: number }> {
  const session = generateSessionSecret();
  const [digest] = digestsOf(deps, session);
  if (!digest) throw new Error('no pepper is configured');
  const expiresAt = await deps.db.transaction('begin', async (_query, inside) => {
    await recordAudit(inside, { actor: actorOf(access), action: 'admin_sessions.begin', subject: access.tokenId });
    return insertAdminSession(inside, { digest, tokenId: access.tokenId, seconds: sessionSeconds });
  });
  return { session, expiresAt };
}

/** Ends a session; false if it had ended before. */
export const endSession = (deps: AccessDeps, session: string): Promise<boolean> =>
  deps.db.transaction('begin', (_query, inside) => deleteAdminSession(inside, digestsOf(deps, session)));

/** The digests of a secret, of which the first is the one that is stored. */
const digestsOf = ({ config }: AccessDeps, secret: string): Buffer[] =>
  config.secrets.keyPeppers.map((pepper) => digestApiKey(secret, pepper.secret));
