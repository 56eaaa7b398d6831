import { insertKey, type KeyLimits } from '../../db/projects/keys.ts';
import type { Deps } from '../../deps.ts';
import { digestsOfApiKey, generateApiKey } from '../../platform/crypto/api-key.ts';
import { newId } from '../../platform/crypto/ids.ts';
import { scopes as everyScope } from '../../domain/projects/scope.ts';
import { OperatorError, UnknownToOperator } from '../operator-error.ts';
import { newSecretRow } from './new-secret-row.ts';

/**
 * Creates a key. Only here is the secret returned, because only its digest is stored (rules "Keys and auth"). A rate or an in-flight
 * limit that is not given is the default of the configuration; null means no limit. A key without given scopes has all of them. The
 * secret may be given, such as that of a key of another gateway. Throws `OperatorError` if any key has or had it.
 */
export async function createKey(
  { db, config }: Pick<Deps, 'db' | 'config'>,
  {
    actor,
    apiKey = generateApiKey(),
    ...input
  }: Partial<KeyLimits> & { projectId: string; apiKey?: string; actor: string },
): Promise<{ keyId: string; apiKey: string }> {
  const {
    rpm = config.keys.rpmDefault,
    inFlightMax = config.keys.inFlightMaxDefault,
    scopes = [...everyScope],
    metadata = {},
  } = input;
  const keyId = newId('key');
  const secret = newSecretRow(config.secrets, apiKey);
  const limits = { ...input, metadata, scopes, rpm, inFlightMax };
  const digests = digestsOfApiKey(apiKey, config.secrets.keyPeppers);
  const outcome = await insertKey(db, { keyId, ...limits, secret, digests, actor });
  if (outcome === 'unknown_project') throw new UnknownToOperator(`There is no project ${input.projectId}.`);
  if (outcome === 'secret_taken') throw new OperatorError('A key has this secret already. Give another one.');
  return { keyId, apiKey };
}
