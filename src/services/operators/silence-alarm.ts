import { insertSilence } from '../../db/operators/alarms.ts';
import type { Deps } from '../../deps.ts';
import type { AlarmKind, Silence } from '../../domain/operators/alarm.ts';
import { newId } from '../../platform/crypto/ids.ts';

/**
 * Mutes the webhook and the mails of an alarm for `seconds`, in all processes. Its log lines and its metric stay. The alarm need not exist:
 * a channel may be silenced before it is taken down.
 */
export async function silenceAlarm(
  { db }: Pick<Deps, 'db'>,
  { actor, ...input }: AlarmKind<string> & { seconds: number; reason: string; actor: string },
): Promise<Silence> {
  return insertSilence(db, { ...input, silenceId: newId('sil'), createdBy: actor });
}
