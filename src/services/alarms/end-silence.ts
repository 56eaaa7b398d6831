import { recordAudit } from '../../db/operators/audit.ts';
import { endSilence as endSilenceRow } from '../../db/operators/alarms.ts';
import type { Deps } from '../../deps.ts';
import type { Silence } from '../../domain/operators/alarm.ts';
import { UnknownToOperator } from '../operator-error.ts';

/** Ends a silence before its time. `changed` is false if it had ended before. */
export async function endSilence(
  { db }: Pick<Deps, 'db'>,
  { silenceId, actor }: { silenceId: string; actor: string },
): Promise<{ silence: Silence; changed: boolean }> {
  const { before, after } = await db.transaction('begin', async (_query, inside) => {
    const ended = await endSilenceRow(inside, silenceId);
    if (ended.before && ended.after) {
      await recordAudit(inside, {
        actor,
        action: 'alarms.unsilence',
        subject: silenceId,
        before: { until: ended.before.until },
        after: { until: ended.after.until },
        detail: { name: ended.before.name, subject: ended.before.subject },
      });
    }
    return ended;
  });
  if (!before) throw new UnknownToOperator(`There is no silence ${silenceId}.`);
  return { silence: after ?? before, changed: after !== null };
}
