import type { AlarmKind, Silence } from '../../domain/operators/alarm.ts';
import { toMembers } from '../column-names.ts';
import type { Database, Statements } from '../database.ts';
import { unixSeconds } from '../unix-seconds.ts';
import { recordAudit } from './audit.ts';

/** An alarm and how often it fired. Its name may be one of 0.2.0. Times are unix seconds. */
export interface FiredAlarm extends AlarmKind<string> {
  message: string;
  level: string;
  count: number;
  firstAt: number;
  lastAt: number;
}

/** Adds alarms to what is known of them. One that was quiet for a day is counted anew. */
export async function noteAlarms(database: Database, alarms: readonly FiredAlarm[]): Promise<void> {
  await database.query(
    'note-alarms',
    `insert into alarm as a (name, subject, message, level, count, first_at, last_at)
     select name, subject, message, level, count, to_timestamp(first_at), to_timestamp(last_at)
     from jsonb_to_recordset($1::jsonb) as x (
       name text, subject text, message text, level text, count bigint, first_at float8, last_at float8)
     order by name, subject
     on conflict (name, subject) do update set message = excluded.message, level = excluded.level,
       count = case when a.last_at < excluded.first_at - interval '1 day' then 0 else a.count end + excluded.count,
       first_at = case when a.last_at < excluded.first_at - interval '1 day' then excluded.first_at else a.first_at end,
       last_at = greatest(a.last_at, excluded.last_at)`,
    [toMembers(alarms)],
  );
}

/** The alarms that fired in the last `days`, the latest first. */
export const listFiredAlarms = (
  database: Database,
  { days, limit }: { days: number; limit: number },
): Promise<FiredAlarm[]> =>
  database.query<FiredAlarm>(
    'fired-alarms',
    `select name, subject, message, level, count, ${unixSeconds('first_at')} as first_at, ${unixSeconds('last_at')} as last_at
     from alarm where last_at > clock_timestamp() - make_interval(days => $1) order by last_at desc, name, subject limit $2`,
    [days, limit],
  );

const silenceColumns = `id as silence_id, name, subject, reason, created_by, ${unixSeconds('created_at')} as created_at,
  ${unixSeconds('until')} as until`;

/** The silences that have not ended, the one that ends first before the others. */
export const listSilences = (database: Statements): Promise<Silence[]> =>
  database.query<Silence>(
    'silences',
    `select ${silenceColumns} from alarm_silence where until > clock_timestamp() order by until, id`,
  );

/** Begins a silence of `seconds`. */
export const insertSilence = (
  database: Database,
  input: Pick<Silence, 'silenceId' | 'name' | 'subject' | 'reason' | 'createdBy'> & { seconds: number },
): Promise<Silence> =>
  database.transaction('begin', async (_query, inside) => {
    const { silenceId, name, subject, reason, createdBy, seconds } = input;
    const silence = await inside.first<Silence>(
      'add-silence',
      `insert into alarm_silence (id, name, subject, reason, created_by, until)
       values ($1, $2, $3, $4, $5, clock_timestamp() + make_interval(secs => $6)) returning ${silenceColumns}`,
      [silenceId, name, subject, reason, createdBy, seconds],
    );
    if (!silence) throw new Error('a silence was not written');
    const after = { name, subject, until: silence.until, reason };
    await recordAudit(inside, { actor: createdBy, action: 'alarms.silence', subject: silenceId, before: null, after });
    return silence;
  });

/** Ends a silence now. `before` is the silence as it was, and null if there is none; `after` is null if it had ended before. */
export const markSilenceEnded = (
  database: Database,
  { silenceId, actor }: { silenceId: string; actor: string },
): Promise<{ before: Silence | null; after: Silence | null }> =>
  database.transaction('begin', async (_query, inside) => {
    const before = await inside.first<Silence>(
      'lock-silence',
      `select ${silenceColumns} from alarm_silence where id = $1 for update`,
      [silenceId],
    );
    const after = await inside.first<Silence>(
      'end-silence',
      `update alarm_silence set until = clock_timestamp() where id = $1 and until > clock_timestamp() returning ${silenceColumns}`,
      [silenceId],
    );
    if (before && after) {
      await recordAudit(inside, {
        actor,
        action: 'alarms.unsilence',
        subject: silenceId,
        before: { until: before.until },
        after: { until: after.until },
        detail: { name: before.name, subject: before.subject },
      });
    }
    return { before, after };
  });

/** Deletes at most `limit` alarms that have not fired for `days`, and as many silences that ended before that. Returns how many rows. */
export async function purgeAlarms(database: Database, days: number, limit: number): Promise<number> {
  const rows = await database.query(
    'purge-alarms',
    `with alarms as (
       delete from alarm where (name, subject) in (
         select name, subject from alarm where last_at < clock_timestamp() - make_interval(days => $1) limit $2) returning 1
     ), silences as (
       delete from alarm_silence where id in (
         select id from alarm_silence where until < clock_timestamp() - make_interval(days => $1) limit $2) returning 1
     )
     select 1 as gone from alarms union all select 1 from silences`,
    [days, limit],
  );
  return rows.length;
}
