import { recordAudit } from '../../db/operators/audit.ts';
import {
  deleteAdminSession,
  findByAdminSession,
  findByAdminToken,
  insertAdminSession,
} from '../../db/operators/admin-access.ts';
import type { Statements } from '../../db/database.ts';
import type { Deps } from '../../deps.ts';
import { actorOf, type AdminAccess } from '../../domain/operators/admin-access.ts';
import { adminTokenPrefix, digestApiKey, generateSessionSecret } from '../../platform/crypto/api-key.ts';

/** A session lasts for half a day, so that an operator signs in once in working hours. */
export const sessionSeconds = 43_200;

export type AccessDeps = Pick<Deps, 'db' | 'config'>;

/** The holder of an admin token; null if the token is unknown, expired or revoked. */
export const accessByToken = async (deps: AccessDeps, token: string): Promise<AdminAccess | null> =>
  token.startsWith(adminTokenPrefix) ? findByAdminToken(deps.db, digestsOf(deps, token)) : null;

/** The token or the operator of a session; null if the session has ended. */
export const accessBySession = (deps: AccessDeps, session: string): Promise<AdminAccess | null> =>
  findByAdminSession(deps.db, digestsOf(deps, session));

/** A session as its holder gets it. Only the digest of the secret is stored. */
export interface BegunSession {
  session: string;
  /** Unix seconds. */
  expiresAt: number;
}

/** Begins a session of a token or an operator, in a transaction of the caller. */
export async function beginSession(deps: AccessDeps, inside: Statements, access: AdminAccess): Promise<BegunSession> {
  const session = generateSessionSecret();
  const [digest] = digestsOf(deps, session);
  if (!digest) throw new Error('no pepper is configured');
  const { principalId } = access;
  const expiresAt = await insertAdminSession(inside, { digest, principalId, seconds: sessionSeconds });
  await recordAudit(inside, {
    actor: actorOf(access),
    action: 'admin_sessions.begin',
    subject: principalId,
    before: null,
    after: { expiresAt },
  });
  return { session, expiresAt };
}

/** Ends a session of this token or operator; false if it had ended before. */
export const endSession = (deps: AccessDeps, session: string, access: AdminAccess): Promise<boolean> =>
  deps.db.transaction('begin', async (_query, inside) => {
    const ended = await deleteAdminSession(inside, digestsOf(deps, session));
    if (!ended) return false;
    await recordAudit(inside, {
      actor: actorOf(access),
      action: 'admin_sessions.end',
      subject: access.principalId,
      before: ended,
      after: null,
    });
    return true;
  });

/** The digests of a secret, of which the first is the one that is stored. */
const digestsOf = ({ config }: AccessDeps, secret: string): Buffer[] =>
  config.secrets.keyPeppers.map((pepper) => digestApiKey(secret, pepper.secret));
