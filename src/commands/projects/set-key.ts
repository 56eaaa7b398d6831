import { recordAudit } from '../../db/audit.ts';
import { updateKeyLimits, type KeyLimits } from '../../db/keys.ts';
import type { Deps } from '../../deps.ts';
import { OperatorError } from '../operator-error.ts';

/** What may be changed about a key. A field that is absent stays; null clears it, which means no limit. */
export type KeyChanges = Partial<KeyLimits>;

/**
 * Changes what a key may do. Counts for requests that are admitted from now on: a budget below what was spent refuses the
 * next one and touches nothing that runs. Throws `OperatorError` for an unknown or revoked key.
 */
export async function setKey(
  { db }: Pick<Deps, 'db'>,
  { keyId, changes, actor }: { keyId: string; changes: KeyChanges; actor: string },
): Promise<KeyLimits> {
  const given = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
  if (Object.keys(given).length === 0) throw new OperatorError('Nothing to change was named.');
  const updated = await updateKeyLimits(db, keyId, given);
  if (updated === 'unknown') throw new OperatorError(`There is no key ${keyId}.`);
  if (updated === 'revoked') throw new OperatorError(`${keyId} has been revoked, which is for good. Make another key.`);
  const { before, after } = updated;
  await recordAudit(db, {
    actor,
    action: 'keys.set',
    subject: keyId,
    detail: Object.fromEntries(
      limitNames.flatMap(([name, field]) =>
        field in given ? [[name, { from: before[field], to: after[field] }]] : [],
      ),
    ),
  });
  return after;
}

/** As the audit and the command line name them. */
const limitNames = [
  ['name', 'name'],
  ['models', 'models'],
  ['rpm', 'rpm'],
  ['budget', 'budget'],
  ['in_flight_max', 'inFlightMax'],
  ['expires_at', 'expiresAt'],
] as const satisfies readonly (readonly [string, keyof KeyLimits])[];
