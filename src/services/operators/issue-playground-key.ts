import { issueKeyOfPlayground } from '../../db/projects/playground-keys.ts';
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
 * Gives an operator a key for the playground of the console, which spends at most `budgetDaily` credits of a project a day (UTC) and lasts as
 * long as a session. It may buy chats and media and nothing else, and no other action changes its limits or its secret. An operator has one
 * such key for each project: a second call gives the same key a new secret and ends the earlier one. So the spend of the day counts against the
 * cap, however often the console is opened. Throws `OperatorError` for an unknown project.
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
  const secret = newSecretRow(config.secrets, apiKey);
  const wanted = { projectId, principalId, newKey, budgetDaily, expiresAt };
  const keyId = await issueKeyOfPlayground(db, { ...wanted, secret, actor: actorOf(access) });
  if (keyId === null) throw new UnknownToOperator(`There is no project ${projectId}.`);
  return { keyId, apiKey, expiresAt: Math.floor(expiresAt.getTime() / 1_000), budgetDaily };
}
