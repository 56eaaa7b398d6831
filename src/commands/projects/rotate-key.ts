import { recordAudit } from '../../db/audit.ts';
import { addKeySecret } from '../../db/keys.ts';
import type { Deps } from '../../deps.ts';
import { generateApiKey } from '../../platform/crypto/api-key.ts';
import { newSecretRow } from './create-key.ts';
import { OperatorError } from '../operator-error.ts';

/** How long a key's old secret works beside the new one: a day, so that clients can be changed in working hours. */
const overlapSeconds = 86_400;

export interface RotatedKey {
  keyId: string;
  /** Told here and never again. */
  apiKey: string;
  /** Unix seconds at which the secrets before it end. */
  previousUntil: number;
}

/**
 * Adds a second secret to the same key: id, limits, budget and spend are shared. What opened the key before ends after
 * 24 hours, or earlier where an earlier rotation said so (rules "Keys and auth"). Throws
 * `OperatorError` for an unknown or revoked key.
 */
export async function rotateKey(
  { db, config }: Pick<Deps, 'db' | 'config'>,
  { keyId, actor }: { keyId: string; actor: string },
): Promise<RotatedKey> {
  const apiKey = generateApiKey();
  const added = await addKeySecret(db, {
    keyId,
    secret: newSecretRow(config.secrets, apiKey),
    overlapSeconds,
  });
  if (added === 'unknown') throw new OperatorError(`There is no key ${keyId}.`);
  if (added === 'revoked') throw new OperatorError(`${keyId} has been revoked, which is for good. Make another key.`);
  const { previousUntil, projectId } = added;
  await recordAudit(db, {
    actor,
    action: 'keys.rotate',
    subject: keyId,
    detail: { project_id: projectId, previous_until: previousUntil },
  });
  return { keyId, apiKey, previousUntil };
}
