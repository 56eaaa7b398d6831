import { updateKeyLimits, type KeyLimits } from '../../db/projects/keys.ts';
import type { Deps } from '../../deps.ts';
import { OperatorError, UnknownToOperator } from '../operator-error.ts';
import { PlaygroundKeyRefusal } from './playground-key-refusal.ts';

/**
 * Changes the given limits of a key; null removes a limit. The change applies to requests that are admitted after it: a budget below
 * the spend refuses the next request, and running requests continue. Throws `OperatorError` for an unknown or revoked key,
 * and for a key of the playground, which no change may outlive or enlarge.
 */
export async function setKey(
  { db }: Pick<Deps, 'db'>,
  { keyId, changes, actor }: { keyId: string; changes: Partial<KeyLimits>; actor: string },
): Promise<KeyLimits> {
  if (Object.keys(changes).length === 0) throw new OperatorError('Nothing to change: name at least one setting.');
  const updated = await updateKeyLimits(db, { keyId, changes, actor });
  if (updated === 'unknown') throw new UnknownToOperator(`There is no key ${keyId}.`);
  if (updated === 'revoked') throw new OperatorError(`${keyId} has been revoked permanently. Create another key.`);
  if (updated === 'playground') throw new PlaygroundKeyRefusal(keyId);
  return updated.after;
}
