import { markSilenceEnded } from '../../db/operators/alarms.ts';
import type { Deps } from '../../deps.ts';
import type { Silence } from '../../domain/operators/alarm.ts';
import { UnknownToOperator } from '../operator-error.ts';

/** Ends a silence before its time. `changed` is false if it had ended before. */
export async function endSilence(
  { db }: Pick<Deps, 'db'>,
  { silenceId, actor }: { silenceId: string; actor: string },
): Promise<{ silence: Silence; changed: boolean }> {
  const { before, after } = await markSilenceEnded(db, { silenceId, actor });
  if (!before) throw new UnknownToOperator(`There is no silence ${silenceId}.`);
  return { silence: after ?? before, changed: after !== null };
}
