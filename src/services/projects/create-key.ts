import { insertKey, type KeyLimits } from '../../db/projects/keys.ts';
import type { Deps } from '../../deps.ts';
import { generateApiKey } from '../../platform/crypto/api-key.ts';
import { newId } from '../../platform/crypto/ids.ts';
import { scopes as everyScope } from '../../domain/projects/scope.ts';
import { UnknownToOperator } from '../operator-error.ts';
import { newSecretRow } from './new-secret-row.ts';

/**
 * Creates a key. Only here is the secret returned, because only its digest is stored (rules "Keys and auth"). A rate or an in-flight
 * limit that is not given is the default of the configuration; null means no limit. A key without given scopes has all of them.
 */
export async function createKey(
  { db, config }: Pick<Deps, 'db' | 'config'>,
  { actor, ...input }: Partial<KeyLimits> & { projectId: string; actor: string },
): Promise<{ keyId: string; apiKey: string }> {
  const {
    rpm = config.keys.rpmDefault,
    inFlightMax = config.keys.inFlightMaxDefault,
    scopes = [...everyScope],
    metadata = {},
  } = input;
  const keyId = newId('key');
  const apiKey = generateApiKey();
  const secret = newSecretRow(config.secrets, apiKey);
  const limits = { ...input, metadata, scopes, rpm, inFlightMax };
  if (!(await insertKey(db, { keyId, ...limits, secret, actor })))
    throw new UnknownToOperator(`There is no project ${input.projectId}.`);
  return { keyId, apiKey };
}
