import { noteAlarms, type FiredAlarm } from './alarms.ts';
import type { Database } from '../database.ts';

export interface AlarmRecorder {
  /** Notes that an alarm fired now. Never throws or waits. */
  record(alarm: Pick<FiredAlarm, 'name' | 'subject' | 'message' | 'level'>): void;
  /** Writes what waits, once. */
  flush(): Promise<void>;
}

/** A flood of one alarm is one statement a second. */
const waitMs = 1_000;
const retryMs = 10_000;
/** Distinct alarms that wait for the database. Further ones are only logged and sent. */
const waitingMax = 500;
const textMax = 200;

/** Writes the alarms of this process for the lists of operators. While the database is unavailable, they wait. */
export function createAlarmRecorder(database: Database): AlarmRecorder {
  const waiting = new Map<string, FiredAlarm>();
  let timer: NodeJS.Timeout | undefined;

  const arm = (ms: number): void => {
    timer ??= setTimeout(() => void flush(), ms).unref();
  };
  const add = (alarm: FiredAlarm): void => {
    const key = JSON.stringify([alarm.name, alarm.subject]);
    const existing = waiting.get(key);
    if (!existing && waiting.size >= waitingMax) return;
    waiting.set(key, {
      ...alarm,
      count: alarm.count + (existing?.count ?? 0),
      firstAt: Math.min(alarm.firstAt, existing?.firstAt ?? Infinity),
      lastAt: Math.max(alarm.lastAt, existing?.lastAt ?? 0),
    });
  };
  const flush = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    const alarms = [...waiting.values()];
    waiting.clear();
    if (alarms.length === 0) return;
    try {
      await noteAlarms(database, alarms);
    } catch {
      // The log has the alarms. A line about this failure could be an alarm itself.
      for (const alarm of alarms) add(alarm);
      arm(retryMs);
    }
  };

  return {
    record({ name, subject, message, level }) {
      const at = Date.now() / 1_000;
      const texts = { name: storableText(name), subject: storableText(subject), message: storableText(message) };
      add({ ...texts, level, count: 1, firstAt: at, lastAt: at });
      arm(waitMs);
    },
    flush,
  };
}

/** PostgreSQL refuses a text with a zero byte. */
const storableText = (text: string): string => text.replace(/\p{Cc}/gu, ' ').slice(0, textMax);
