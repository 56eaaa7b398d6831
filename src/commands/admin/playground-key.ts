import { findPlaygroundKeys } from '../../db/playground-keys.ts';
import type { Deps } from '../../deps.ts';
import { actorOf, type AdminAccess } from '../../domain/admin-access.ts';
import { createKey } from '../projects/create-key.ts';
import { revokeKey } from '../projects/revoke-key.ts';
import { rotateKey } from '../projects/rotate-key.ts';
import { setKey } from '../projects/set-key.ts';

/** As long as a session of the console. */
const lifetimeMs = 12 * 3_600_000;

export interface PlaygroundKey {
  keyId: string;
  apiKey: string;
  /** Unix seconds. */
  expiresAt: number;
  budgetDaily: number;
}

/**
 * Gives an operator a key for the playground of the console, which spends at most `budgetDaily` credits of a project a day (UTC). An
 * operator has one such key for each project: a second call gives the same key a new secret and ends the earlier one. So the spend of
 * the day counts against the cap, however often the console is opened. Throws `OperatorError` for an unknown project.
 */
export async function issuePlaygroundKey(
  deps: Pick<Deps, 'db' | 'config'>,
  { access, projectId, budgetDaily }: { access: AdminAccess; projectId: string; budgetDaily: number },
): Promise<PlaygroundKey> {
  const actor = actorOf(access);
  const expires = new Date(Date.now() + lifetimeMs);
  const limits = { budgetDaily, expiresAt: expires };
  const [existing, ...duplicates] = await findPlaygroundKeys(deps.db, { projectId, tokenId: access.tokenId });
  // Two calls at the same time may each make one.
  for (const keyId of duplicates) await revokeKey(deps, { keyId, actor });
  const issued = { expiresAt: Math.floor(expires.getTime() / 1_000), budgetDaily };
  if (existing === undefined) {
    const name = `Playground of ${access.name || access.tokenId}`;
    const metadata = { playground: access.tokenId };
    return { ...(await createKey(deps, { projectId, name, metadata, ...limits, actor })), ...issued };
  }
  await setKey(deps, { keyId: existing, changes: limits, actor });
  const { apiKey } = await rotateKey(deps, { keyId: existing, now: true, actor });
  return { keyId: existing, apiKey, ...issued };
}
