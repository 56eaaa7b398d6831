import type { Database } from '../database.ts';
import { unixSeconds } from '../unix-seconds.ts';

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
}

/**
 * Adds up today and yesterday (UTC), every entry of the ledger once. `fold_traffic` has added up most of them before, so it reads those
 * sums, the entries since, and those of the five minutes in which yesterday is cut. Times are exact to 3 %.
 */
export async function readTraffic(database: Database): Promise<TrafficReport> {
  const rows = await database.query<Traffic & { at: number; period: string | null; hour: number | null }>(
    'overview-traffic',
    `with ${trafficOfTwoDays}, summed as (
       select period, hour, latency_class, sum(succeeded) as succeeded, sum(failed) as failed, sum(credits) as credits,
         sum(cost_micro_usd) as cost
       from part group by grouping sets ((period, latency_class), (hour, latency_class))
     ), ranked as (
       select *, sum(succeeded) over (partition by period, hour order by latency_class) as reached,
         sum(succeeded) over (partition by period, hour) as all_succeeded
       from summed where period is not null or hour is not null
     )
     select ${unixSeconds('clock.now')} as at, period, ${unixSeconds('hour')} as hour, sum(succeeded + failed)::bigint as requests,
       sum(failed)::bigint as failed, sum(credits)::bigint as credits, sum(cost)::bigint as cost_micro_usd,
       ${middleOf('0.5')} as p50_ms, ${middleOf('0.95')} as p95_ms
     from clock left join ranked on true group by clock.now, period, hour order by hour`,
  );
  const of = (period: string): Traffic => toTraffic(rows.find((row) => row.period === period));
  return {
    at: rows[0]?.at ?? 0,
    today: of('today'),
    yesterday: of('yesterday'),
    hours: rows.flatMap(({ hour, ...row }) => (hour === null ? [] : [{ ...toTraffic(row), at: hour }])),
  };
}

/** The class of a time, whether it is of a chat or of a task. */
const ownClass = (of: string): string =>
  `case when ${of}.latency_class <= -1000 then -1000 - ${of}.latency_class else ${of}.latency_class end`;

/** Parts of the figures of `Traffic`. Failures that are neither `refused` nor `left` are the gateway's or the provider's. */
export interface TrafficParts {
  /** Failures because the provider refused the request itself. */
  refused: number;
  /** Counted with the failures: the client left, charged for what came until then or not, or canceled. */
  left: number;
  /** Calls of these requests whose cost is unknown. */
  unknownCosts: number;
  /** The median times of the chats and of the tasks that succeeded. Null if none did. */
  chatP50Ms: number | null;
  mediaP50Ms: number | null;
}

/** The parts of today, and of yesterday until the same time of the day. */
export async function readTrafficParts(database: Database): Promise<{ today: TrafficParts; yesterday: TrafficParts }> {
  const rows = await database.query<Omit<TrafficParts, 'unknownCosts'> & { period: string }>(
    'overview-traffic-parts',
    `with ${trafficOfTwoDays}, summed as (
       select period, is_media, latency_class, sum(succeeded) as succeeded,
         sum(failed) filter (where stored_class = -2) as refused, sum(failed) filter (where stored_class = -3) as gone
       from part where period is not null group by period, is_media, latency_class
     ), ranked as (
       select *, sum(succeeded) over (partition by period, is_media order by latency_class) as reached,
         sum(succeeded) over (partition by period, is_media) as all_succeeded
       from summed
     )
     select period, coalesce(sum(refused), 0)::bigint as refused, coalesce(sum(gone), 0)::bigint as "left",
       ${middleOf('0.5', ' and not is_media')} as chat_p50_ms, ${middleOf('0.5', ' and is_media')} as media_p50_ms
     from ranked group by period`,
  );
  const unknown = await database.first<{ today: number; yesterday: number }>(
    'overview-unknown-costs',
    `with ${trafficOfTwoDays}
     select coalesce(sum(unknown_costs) filter (where slot >= today), 0)::bigint as today,
       coalesce(sum(unknown_costs) filter (where slot < cut_slot or is_cut), 0)::bigint as yesterday
     from clock cross join lateral (
       select slot, unknown_costs, false as is_cut from traffic_unknown_cost where slot >= today - interval '1 day'
       union all
       select s.*, false from rest cross join lateral sum_unknown_costs(rest.after, ${maxBigint}, today - interval '1 day', 'infinity') s
       union all
       select s.*, true from cut cross join lateral sum_unknown_costs(cut.after, cut.through, cut_slot, day_ago) s
     ) part`,
    [],
  );
  const of = (period: 'today' | 'yesterday'): TrafficParts => {
    const row = rows.find((one) => one.period === period);
    return {
      refused: row?.refused ?? 0,
      left: row?.left ?? 0,
      unknownCosts: unknown?.[period] ?? 0,
      chatP50Ms: row?.chatP50Ms ?? null,
      mediaP50Ms: row?.mediaP50Ms ?? null,
    };
  };
  return { today: of('today'), yesterday: of('yesterday') };
}

const maxBigint = '9223372036854775807';

/** The middle of the first class by which a share of the requests had succeeded; null if none did. */
const middleOf = (share: string, also = ''): string =>
  `power(1.05, min(latency_class) filter (where latency_class >= 0${also} and reached >= ${share} * all_succeeded) + 0.5)::float8`;

/** The beginning of a statement: in `part` the classes of today and yesterday, by the hour. */
const trafficOfTwoDays = `clock as materialized (
       select now, date_trunc('day', now, 'UTC') as today, now - interval '1 day' as day_ago,
         date_bin('5 minutes', now - interval '1 day', 'epoch'::timestamptz) as cut_slot
       from (select clock_timestamp() as now) one
     ), rest as materialized (
       select m.through_entry_id as after, coalesce(e.created_at < clock.day_ago, false) as is_late
       from clock cross join traffic_mark m
       left join lateral (select created_at from ledger_entry where id > m.through_entry_id order by id limit 1) e on true
     ), cut as materialized (
       select min(first_entry_id) - 1 as after, max(last_entry_id) as through from clock, traffic where slot = cut_slot
       union all
       -- Only if no worker has run for a day.
       select after, ${maxBigint} from rest where is_late
     ), part as (
       select t.slot, ${ownClass('t')} as latency_class, t.latency_class <= -1000 as is_media, t.latency_class as stored_class, t.succeeded, t.failed,
         t.credits, t.cost_micro_usd, date_trunc('hour', t.slot, 'UTC') as hour,
         case when t.slot >= today then 'today' when t.slot < cut_slot then 'yesterday' end as period
       from clock cross join lateral (
         select * from traffic where slot >= today - interval '1 day'
         union all
         select s.* from rest cross join lateral sum_traffic(rest.after, ${maxBigint}, today - interval '1 day', 'infinity') s
       ) t
       union all
       select s.slot, ${ownClass('s')}, s.latency_class <= -1000, s.latency_class, s.succeeded, s.failed, s.credits, s.cost_micro_usd, null, 'yesterday'
       from clock cross join cut cross join lateral sum_traffic(cut.after, cut.through, cut_slot, day_ago) s
     )`;

/** Entries that one call adds up. */
const foldedMax = 50_000;

/**
 * Adds up the entries of the ledger since the last call, so that `readTraffic` and `sumUsage` have few left to read. Entries younger than
 * `lagSeconds` wait for a later call.
 */
export async function foldTraffic(database: Database, lagSeconds: number): Promise<void> {
  while ((await database.value<number>('fold_traffic', [lagSeconds, foldedMax])) === foldedMax);
}

const toTraffic = (row: Traffic | undefined): Traffic => ({
  requests: row?.requests ?? 0,
  failed: row?.failed ?? 0,
  credits: row?.credits ?? 0,
  costMicroUsd: row?.costMicroUsd ?? 0,
  p50Ms: row?.p50Ms ?? null,
  p95Ms: row?.p95Ms ?? null,
});
