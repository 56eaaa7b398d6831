import type { Database } from './database.ts';
import { unixSeconds } from './unix-seconds.ts';

/** What the requests that ended in a range of time came to. */
export interface Traffic {
  requests: number;
  failed: number;
  /** Charged, less what was given back. */
  credits: number;
  /** Of the provider calls of these requests. */
  costMicroUsd: number;
  /** Of the requests that succeeded, from their hold to their end. Null if none did. */
  p50Ms: number | null;
  p95Ms: number | null;
}

export interface TrafficReport {
  /** Unix seconds. */
  at: number;
  today: Traffic;
  /** Until the same time of the day. */
  yesterday: Traffic;
  /** The hours since the beginning of yesterday that had requests, oldest first. `at` is the beginning of the hour. */
  hours: (Traffic & { at: number })[];
  /** The time from which on entries were read, if they were more than `entriesMax`; else null. */
  countedSince: number | null;
}

/**
 * Adds up today and yesterday (UTC) by the newest `entriesMax` entries of the ledger, so that it takes the same time however long or busy
 * these days were.
 */
export async function readTraffic(database: Database, entriesMax: number): Promise<TrafficReport> {
  const rows = await database.query<Traffic & { period: string | null; hour: number | null; isHour: boolean }>(
    'overview-traffic',
    `with newest as (
       select e.* from ledger_entry e order by e.id desc limit $1
     ), entry as (
       select e.kind, e.credits, extract(epoch from e.created_at - e.began_at) * 1000 as ms,
         date_trunc('hour', e.created_at, 'UTC') as hour,
         case when e.created_at >= day.today then 'today'
              when e.created_at < clock_timestamp() - interval '1 day' then 'yesterday' end as period,
         coalesce(e.cost_micro_usd, (
           select sum(a.cost_micro_usd) from attempt a
           where a.request_id = e.request_id and (a.outcome in ('ok', 'unknown')
             or (a.operation is not null and (a.outcome is null or a.outcome = 'canceled')))), 0) as cost
       from newest e cross join (select date_trunc('day', clock_timestamp(), 'UTC') as today) day
       where e.created_at >= day.today - interval '1 day' and e.kind in ('settle', 'refund', 'adjust')
     )
     select period, ${unixSeconds('hour')} as hour, grouping(period) = 1 as is_hour,
       count(*) filter (where kind <> 'adjust') as requests, count(*) filter (where kind = 'refund') as failed,
       coalesce(-sum(credits), 0)::bigint as credits, coalesce(sum(cost) filter (where kind <> 'adjust'), 0)::bigint as cost_micro_usd,
       percentile_cont(0.5) within group (order by ms) filter (where kind = 'settle')::float8 as p50_ms,
       percentile_cont(0.95) within group (order by ms) filter (where kind = 'settle')::float8 as p95_ms
     from entry group by grouping sets ((period), (hour)) order by hour`,
    [entriesMax],
  );
  const [range] = await database.query<{ at: number; countedSince: number | null }>(
    'overview-range',
    `select ${unixSeconds('clock_timestamp()')} as at,
       (select ${unixSeconds('e.created_at')} from ledger_entry e
        where e.created_at >= date_trunc('day', clock_timestamp(), 'UTC') - interval '1 day'
          and e.id = (select id from ledger_entry order by id desc offset $1 - 1 limit 1)) as counted_since`,
    [entriesMax],
  );
  const of = (period: string): Traffic => toTraffic(rows.find((row) => !row.isHour && row.period === period));
  return {
    at: range?.at ?? 0,
    today: of('today'),
    yesterday: of('yesterday'),
    hours: rows.flatMap((row) => (row.hour === null ? [] : [{ at: row.hour, ...toTraffic(row) }])),
    countedSince: range?.countedSince ?? null,
  };
}

const toTraffic = (row: Traffic | undefined): Traffic => ({
  requests: row?.requests ?? 0,
  failed: row?.failed ?? 0,
  credits: row?.credits ?? 0,
  costMicroUsd: row?.costMicroUsd ?? 0,
  p50Ms: row?.p50Ms ?? null,
  p95Ms: row?.p95Ms ?? null,
});

export interface Backlog {
  /** Tasks whose outcome upstream is unknown and not recorded yet, at most 1,000. */
  unknownOutcomes: number;
  /** Callbacks that are more than five minutes late, at most 1,000. */
  lateCallbacks: number;
  /** The jobs whose last run failed or was lost, with the time of its end. */
  failedJobs: { name: string; state: string; endedAt: number | null }[];
}

/** What waits for an operator. Each part reads an index that holds only what waits. */
export async function readBacklog(database: Database, jobNames: readonly string[]): Promise<Backlog> {
  const [counts] = await database.query<Omit<Backlog, 'failedJobs'>>(
    'overview-backlog',
    `select
       (select count(*) from (select from task t where t.outcome_unknown
          and not exists (select from task_resolution r where r.task_id = t.id) order by t.id desc limit 1000) one) as unknown_outcomes,
       (select count(*) from (select from delivery d where d.ended_at is null
          and d.next_attempt_at < clock_timestamp() - interval '5 minutes' limit 1000) one) as late_callbacks`,
  );
  const failedJobs = await database.query<Backlog['failedJobs'][number]>(
    'overview-jobs',
    `select j.name, latest.state, ${unixSeconds('latest.ended_at')} as ended_at
     from unnest($1::text[]) as j (name) cross join lateral (
       select r.state, r.ended_at from job_run r where r.name = j.name and r.ended_at is not null
       order by r.requested_at desc limit 1) latest
     where latest.state in ('failed', 'lost')`,
    [jobNames],
  );
  return { unknownOutcomes: counts?.unknownOutcomes ?? 0, lateCallbacks: counts?.lateCallbacks ?? 0, failedJobs };
}
