import { listSilences } from '../db/operators/alarms.ts';
import type { Database } from '../db/database.ts';
import { silenceOf, type AlarmKind } from '../domain/operators/alarm.ts';
import { within } from '../platform/pause.ts';
import { createCached } from './cached.ts';

export interface Silences {
  /** Whether a silence covers this alarm now. If the silences cannot be read, none does: an alarm is sent rather than lost. */
  cover(alarm: AlarmKind<string>): Promise<boolean>;
  forget(): void;
}

/** A process that ends gives its alarms two seconds. */
const answerWithinMs = 1_000;

/** Keeps the silences for `keptMs`, so that one may last that much longer than it should. */
export function createSilences(database: Database, keptMs: number): Silences {
  const cached = createCached(keptMs, () => listSilences(database));
  return {
    async cover(alarm) {
      const silences = cached.get().catch(() => []);
      return silenceOf((await within(answerWithinMs, silences)) ?? [], alarm) !== null;
    },
    forget: () => cached.forget(),
  };
}
