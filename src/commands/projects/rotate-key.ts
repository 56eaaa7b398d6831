import { recordAudit } from '../../db/audit.ts';
import { addKeySecret } from '../../db/keys.ts';
import type { Deps } from '../../deps.ts';
import { generateApiKey } from '../../platform/crypto/api-key.ts';
import { newSecretRow } from './create-key.ts';
import { OperatorError } from '../operator-error.ts';

/** How long a key's old secret works beside the new one: a day, so that clients can be changed in working hours. */
const overlapSeconds = 86_400;

/**
 * Adds a second secret to a key, which keeps its id, limits, budget and spend. The previous secrets end at `previousUntil` (unix
 * seconds), after 24 hours or earlier by an earlier rotation (rules "Keys and auth"). With `now` they end immediately, because they
 * have leaked. Only here is the new secret returned. Throws `OperatorError` for an unknown or revoked key.
 */
export async function rotateKey(
  { db, config }: Pick<Deps, 'db' | 'config'>,
  { keyId, now = false, actor }: { keyId: string; now?: boolean; actor: string },
) {
  const apiKey = generateApiKey();
  const secret = newSecretRow(config.secrets, apiKey);
  const added = await db.transaction('begin', async (query, inside) => {
    const result = await addKeySecret(query, { keyId, secret, overlapSeconds: now ? 0 : overlapSeconds });
    if (typeof result === 'string') return result;
    const detail = { project_id: result.projectId, previous_until: result.previousUntil, ...(now && { now }) };
    await recordAudit(inside, { actor, action: 'keys.rotate', subject: keyId, detail });
    return result;
  });
  if (added === 'unknown') throw new OperatorError(`There is no key ${keyId}.`);
  if (added === 'revoked') throw new OperatorError(`${keyId} has been revoked permanently. Create another key.`);
  return { keyId, apiKey, previousUntil: added.previousUntil };
}
