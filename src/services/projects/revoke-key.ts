import { markKeyRevoked } from '../../db/projects/keys.ts';
import type { Deps } from '../../deps.ts';
import { demand } from '../operator-error.ts';

/**
 * Revokes a key permanently. From this commit on no request of it is admitted, but its running requests are still settled or
 * refunded. `revokedAt` is in unix seconds, and `changed` is false if the key was revoked before.
 */
export async function revokeKey({ db }: Pick<Deps, 'db'>, { keyId, actor }: { keyId: string; actor: string }) {
  const revoked = demand(await markKeyRevoked(db, { keyId, actor }), `key ${keyId}`);
  return { keyId, ...revoked };
}
