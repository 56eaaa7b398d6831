import { listFiredAlarms, listSilences } from '../../db/operators/alarms.ts';
import { listChannelStates } from '../../db/channels/channel-settings.ts';
import { readBacklog } from '../../db/operators/backlog.ts';
import type { Config } from '../../config/load-config.ts';
import type { Deps } from '../../deps.ts';
import { silenceOf, type AlarmKind, type Silence } from '../../domain/operators/alarm.ts';
import { scheduledJobNames } from '../../domain/tasks/scheduled-job.ts';
import { alarmsOf } from './alarms.ts';
import { creditValueOf } from '../ledger/credit-value.ts';

/** An alarm that fires, or that fired in the last week. Times are unix seconds. */
export interface ListedAlarm extends AlarmKind<string> {
  state: 'firing' | 'fired';
  message: string;
  since: number | null;
  /** When its log line was last written, and how often since it was quiet for a day. Null if it is only shown and never logged. */
  lastAt: number | null;
  count: number | null;
  silence: Silence | null;
}

const days = 7;
const alarmsMax = 500;

/** What fires now, by the states in the database, and then what was logged as an alarm lately. */
export async function listAlarms({
  db,
  config,
}: Pick<Deps, 'db'> & { config: Pick<Config, 'accounting'> }): Promise<ListedAlarm[]> {
  const creditValue = await creditValueOf({ config, db });
  const [channels, backlog, fired, silences] = await Promise.all([
    listChannelStates(db),
    readBacklog(db, { scheduledJobNames, creditValue }),
    listFiredAlarms(db, { days, limit: alarmsMax }),
    listSilences(db),
  ]);
  const logged = new Map(fired.map((alarm) => [alarmKeyOf(alarm), alarm]));
  const firing = alarmsOf(channels, backlog);
  const firingKeys = new Set(firing.map(alarmKeyOf));
  return [
    ...firing.map(({ name, subject, message, since }) => {
      const { lastAt, count } = logged.get(alarmKeyOf({ name, subject })) ?? { lastAt: null, count: null };
      return { name, subject, state: 'firing' as const, message, since, lastAt, count };
    }),
    ...fired
      .filter((alarm) => !firingKeys.has(alarmKeyOf(alarm)))
      .map(({ name, subject, message, firstAt, lastAt, count }) => ({
        name,
        subject,
        state: 'fired' as const,
        message,
        since: firstAt,
        lastAt,
        count,
      })),
  ].map((alarm) => ({ ...alarm, silence: silenceOf(silences, alarm) }));
}

const alarmKeyOf = ({ name, subject }: AlarmKind<string>): string => JSON.stringify([name, subject]);
