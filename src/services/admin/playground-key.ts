import { recordAudit } from '../../db/operators/audit.ts';
import type { Statements } from '../../db/database.ts';
import { addKeySecret } from '../../db/projects/key-secrets.ts';
import { revokePlaygroundKeys, takePlaygroundKey } from '../../db/projects/playground-keys.ts';
import type { Deps } from '../../deps.ts';
import { actorOf, type AdminAccess } from '../../domain/operators/admin-access.ts';
import { generateApiKey } from '../../platform/crypto/api-key.ts';
import { newId } from '../../platform/crypto/ids.ts';
import { UnknownToOperator } from '../operator-error.ts';
import { newSecretRow } from '../projects/new-secret-row.ts';
import { sessionSeconds } from './admin-access.ts';

export interface PlaygroundKey {
  keyId: string;
  apiKey: string;
  /** Unix seconds. */
  expiresAt: number;
  budgetDaily: number;
}

/**
 * Gives an operator a key for the playground of the console, which spends at most `budgetDaily` credits of a project a day (UTC) and
 * lasts as long as a session. It may buy chats and media and nothing else, and no other action changes its limits or its secret. An operator has one such key for each project: a second call gives the same key a new secret and ends the
 * earlier one. So the spend of the day counts against the cap, however often the console is opened. Throws `OperatorError` for an unknown
 * project.
 */
export async function issuePlaygroundKey(
  { db, config }: Pick<Deps, 'db' | 'config'>,
  { access, projectId, budgetDaily }: { access: AdminAccess; projectId: string; budgetDaily: number },
): Promise<PlaygroundKey> {
  const { principalId } = access;
  const { rpmDefault: rpm, inFlightMaxDefault: inFlightMax } = config.keys;
  const apiKey = generateApiKey();
  const expiresAt = new Date(Date.now() + sessionSeconds * 1_000);
  const newKey = { keyId: newId('key'), name: `Playground of ${access.name || principalId}`, rpm, inFlightMax };
  const keyId = await db.transaction('begin', async (query, inside) => {
    const key = await takePlaygroundKey(inside, { projectId, principalId, newKey, budgetDaily, expiresAt });
    if (!key) throw new UnknownToOperator(`There is no project ${projectId}.`);
    await addKeySecret(query, {
      keyId: key.keyId,
      secret: newSecretRow(config.secrets, apiKey),
      overlapSeconds: 0,
      forPlayground: true,
    });
    const action = key.before ? 'keys.rotate' : 'keys.create';
    await recordAudit(inside, {
      actor: actorOf(access),
      action,
      subject: key.keyId,
      before: key.before,
      after: { budgetDaily, expiresAt },
      detail: { projectId, playground: true },
    });
    return key.keyId;
  });
  return { keyId, apiKey, expiresAt: Math.floor(expiresAt.getTime() / 1_000), budgetDaily };
}

/** Revokes every playground key of an admin token or an operator, in the transaction that ends its sessions. */
export async function endPlaygroundKeys(
  inside: Statements,
  { principalId, actor }: { principalId: string; actor: string },
): Promise<void> {
  for (const { keyId, projectId, revokedAt } of await revokePlaygroundKeys(inside, principalId)) {
    const change = { before: { revokedAt: null }, after: { revokedAt }, detail: { projectId } };
    await recordAudit(inside, { actor, action: 'keys.revoke', subject: keyId, ...change });
  }
}
