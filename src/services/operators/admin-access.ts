import {
  beginAdminSession,
  deleteAdminSession,
  findByAdminSession,
  findByAdminToken,
} from '../../db/operators/admin-access.ts';
import type { Deps } from '../../deps.ts';
import type { AdminAccess } from '../../domain/operators/admin-access.ts';
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

/** Begins a session of a token or an operator. */
export async function beginSession(deps: AccessDeps, access: AdminAccess): Promise<BegunSession> {
  const { session, digest } = newSession(deps);
  const expiresAt = await beginAdminSession(deps.db, access, { digest, seconds: sessionSeconds });
  return { session, expiresAt };
}

/** The secret of a new session, with the digest that is stored in its place. */
export function newSession(deps: AccessDeps): { session: string; digest: Buffer } {
  const session = generateSessionSecret();
  const [digest] = digestsOf(deps, session);
  if (!digest) throw new Error('no pepper is configured');
  return { session, digest };
}

/** Ends a session of this token or operator; false if it had ended before. */
export const endSession = (deps: AccessDeps, session: string, access: AdminAccess): Promise<boolean> =>
  deleteAdminSession(deps.db, access, digestsOf(deps, session));

/** The digests of a secret, of which the first is the one that is stored. */
const digestsOf = ({ config }: AccessDeps, secret: string): Buffer[] =>
  config.secrets.keyPeppers.map((pepper) => digestApiKey(secret, pepper.secret));
