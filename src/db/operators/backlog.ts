import {
  eventAlarms,
  eventSeconds,
  lastingAlarms,
  lastingSeconds,
  type AlarmKind,
  type LastingAlarm,
} from '../../domain/operators/alarm.ts';
import type { Database } from '../database.ts';
import { readWorkInHand, type WorkInHand } from '../tasks/work-in-hand.ts';
import { unixSeconds } from '../unix-seconds.ts';

/** What waits for an operator, and how long what should go on by itself has stood still. */
export interface Backlog extends WorkInHand {
  /** Tasks whose outcome upstream is unknown and not recorded yet, at most 1,000. */
  unknownOutcomes: number;
  /** Callbacks that are more than five minutes late, at most 1,000. */
  lateCallbacks: number;
  /** The jobs whose last run failed or was lost, with the time of its end. */
  failedScheduledJobs: { name: string; state: string; endedAt: number | null }[];
  /** The lasting alarms that a process has just raised. */
  lastingAlarms: LastingAlarm[];
  /** What has happened in the last quarter of an hour, the latest first, at most 20. */
  events: (AlarmKind & { message: string; at: number })[];
  /** Since a worker began the job that runs every minute; null if none ever did. */
  workerAwaySeconds: number | null;
  /** The models that cost more at a channel than they earned in the last hour and a half, at most 20. */
  losses: { model: string; channel: string }[];
}

/** Reads what needs an operator. Each part reads an index that holds only what waits, or the usage of the last slots. */
export async function readBacklog(
  database: Database,
  { scheduledJobNames, creditValue }: { scheduledJobNames: readonly string[]; creditValue: number },
): Promise<Backlog> {
  const [work, counts, failedScheduledJobs, events, losses] = await Promise.all([
    readWorkInHand(database),
    readCounts(database),
    readFailedScheduledJobs(database, scheduledJobNames),
    readEvents(database),
    readLosses(database, creditValue),
  ]);
  return { ...work, ...counts, failedScheduledJobs, events, losses };
}

type Counts = Pick<Backlog, 'unknownOutcomes' | 'lateCallbacks' | 'lastingAlarms' | 'workerAwaySeconds'>;

async function readCounts(database: Database): Promise<Counts> {
  const counts = await database.first<Counts>(
    'overview-backlog',
    `select
       (select count(*) from (select from task t where t.outcome_unknown
          and not exists (select from task_resolution r where r.task_id = t.id) order by t.id desc limit 1000) one) as unknown_outcomes,
       (select count(*) from (select from delivery d where d.ended_at is null
          and d.next_attempt_at < clock_timestamp() - interval '5 minutes' limit 1000) one) as late_callbacks,
       array(select distinct name from alarm
         where name = any ($1) and last_at > clock_timestamp() - make_interval(secs => $2)) as lasting_alarms,
       (select extract(epoch from clock_timestamp() - max(requested_at))::float8 from job_run
         where name = 'check-balances') as worker_away_seconds`,
    [lastingAlarms, lastingSeconds],
  );
  if (!counts) throw new Error('a statement without a condition returned no row');
  return counts;
}

const readFailedScheduledJobs = (
  database: Database,
  names: readonly string[],
): Promise<Backlog['failedScheduledJobs']> =>
  database.query(
    'overview-jobs',
    `select j.name, latest.state, ${unixSeconds('latest.ended_at')} as ended_at
     from unnest($1::text[]) as j (name) cross join lateral (
       select r.state, r.ended_at from job_run r where r.name = j.name and r.ended_at is not null
       order by r.requested_at desc limit 1) latest
     where latest.state in ('failed', 'lost')`,
    [names],
  );

const readEvents = (database: Database): Promise<Backlog['events']> =>
  database.query(
    'overview-events',
    `select name, subject, message, ${unixSeconds('last_at')} as at from alarm
     where name = any ($1) and last_at > clock_timestamp() - make_interval(secs => $2) order by last_at desc limit 20`,
    [eventAlarms, eventSeconds],
  );

const readLosses = (database: Database, creditValue: number): Promise<Backlog['losses']> =>
  database.query(
    'overview-losses',
    `select u.model_id as model, c.name as channel from usage_slot u join channel c on c.id = u.channel_id
     where u.slot >= date_bin('30 minutes', clock_timestamp() - interval '1 hour', 'epoch') and u.model_id <> ''
     group by 1, 2 having sum(u.cost_micro_usd) > sum(u.credits_charged) * $1 order by 1, 2 limit 20`,
    [creditValue],
  );
