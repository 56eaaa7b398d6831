import { addKeySecret } from '../../db/projects/key-secrets.ts';
import type { Deps } from '../../deps.ts';
import { secretOverlapSeconds } from '../../domain/projects/secret-overlap.ts';
import { generateApiKey } from '../../platform/crypto/api-key.ts';
import { PlaygroundKeyRefusal } from './playground-key-refusal.ts';
import { newSecretRow } from './new-secret-row.ts';
import { GatewayError } from '../../domain/errors.ts';
import { OperatorError, UnknownToOperator } from '../operator-error.ts';

/** A client may rotate its key this often a day. Each rotation leaves a secret that works for another day. */
export const clientRotations = { perDayMax: 10 };

/**
 * Adds a second secret to a key, which keeps its id, limits, budget and spend. The previous secrets end at `previousUntil` (unix seconds),
 * after 24 hours or earlier by an earlier rotation (rules "Keys and auth"). With `now` they end immediately, because they have leaked. Only
 * here is the new secret returned. Throws `OperatorError` for an unknown or revoked key and for a key of the playground, and `GatewayError`
 * beyond `perDayMax` rotations in 24 hours.
 */
export async function rotateKey(
  { db, config }: Pick<Deps, 'db' | 'config'>,
  { keyId, now = false, actor, perDayMax }: { keyId: string; now?: boolean; actor: string; perDayMax?: number },
) {
  const apiKey = generateApiKey();
  const secret = newSecretRow(config.secrets, apiKey);
  const seconds = now ? 0 : secretOverlapSeconds;
  const added = await addKeySecret(db, { keyId, secret, overlapSeconds: seconds, perDayMax, actor });
  if (added === 'unknown') throw new UnknownToOperator(`There is no key ${keyId}.`);
  if (added === 'revoked') throw new OperatorError(`${keyId} has been revoked permanently. Create another key.`);
  if (added === 'playground') throw new PlaygroundKeyRefusal(keyId);
  if (added === 'too_often') {
    const message = `This key has been rotated ${perDayMax} times in 24 hours. Use its newest secret.`;
    throw new GatewayError('rate_limit_exceeded', { message, retryAfterSeconds: 3_600 });
  }
  return { keyId, apiKey, previousUntil: added };
}
