import { tokenColumns, type TokenCounts } from '../../domain/catalog/token-counts.ts';
import type { UsageGroup } from '../../domain/ledger/usage-group.ts';
import type { Statements } from '../database.ts';

export interface UsageRange {
  projectId: string;
  keyId?: string | undefined;
  /** Unix seconds: from this one on, and before the other. */
  from: number;
  to: number;
  /** A time zone of the database, by which days are cut. */
  timeZone: string;
  groups: readonly UsageGroup[];
}

/** What the requests that ended in a range came to. What is not grouped by is null. */
export interface Usage extends TokenCounts {
  /** `YYYY-MM-DD` */
  day: string | null;
  model: string | null;
  keyId: string | null;
  requests: number;
  succeeded: number;
  failed: number;
  /** Charged, less what was given back in the range. */
  credits: number;
}

const tokens = tokenColumns.join(', ');
const sums = `succeeded, failed, credits, ${tokens}`.replaceAll(/\w+/g, 'coalesce(sum($&), 0)::bigint as $&');

/**
 * Adds up what a project's requests came to in a range of time, and all of them together as the first row. Whole days (UTC) that are over are
 * read from their summaries once these were built, other whole half hours from usage_half_hour with the entries since, and the rest from the
 * entries, so it is exact at the time of the call. Returns at most `rowsMax` rows beside that, and one more where there are more.
 */
export function sumUsage(
  database: Statements,
  { projectId, keyId, from, to, timeZone, groups }: UsageRange,
  rowsMax: number,
): Promise<(Usage & { isTotal: boolean })[]> {
  const by = (group: UsageGroup, sql: string): string => (groups.includes(group) ? sql : 'null::text');
  const ofKey = (table: string): string => (keyId === undefined ? '' : `and ${table}.key_id = $6`);
  // Summaries are of UTC days, and know nothing of the times within.
  const maySum = timeZone === 'UTC' || !groups.includes('day');
  return database.query(
    `sum-usage-${groups.join('-')}${keyId === undefined ? '' : '-of-key'}${maySum ? '' : '-of-zone'}`,
    `with closed as materialized (
       select utc_day::date as day
       from generate_series(date_trunc('day', to_timestamp($2) at time zone 'UTC'),
                            to_timestamp($3) at time zone 'UTC' - interval '1 microsecond', interval '1 day') utc_day
         cross join lateral (select utc_day at time zone 'UTC' as first_at, (utc_day + interval '1 day') at time zone 'UTC' as past_at) bounds
         join summary_day s on s.day = utc_day::date
       -- A summary that was built after the end of the day has all of its entries: the first one that it has not was written later. A
       -- minute is more than the entries' times are out of the order of their ids.
       where ${maySum} and first_at >= to_timestamp($2) and past_at <= least(to_timestamp($3), clock_timestamp())
         and (s.frozen_at is not null or coalesce((
           select e.created_at > past_at + interval '1 minute' from ledger_entry e where e.id > s.through_entry_id order by e.id limit 1), true))
     ), half_hour as materialized (
       -- A half hour that belongs to two days of the zone is not summed: Nepal's days begin at a quarter past.
       select slot, greatest(slot, to_timestamp($2)) as first_at, least(past, to_timestamp($3)) as past_at,
         slot >= to_timestamp($2) and past <= to_timestamp($3) and slot >= clock_timestamp() - interval '98 days'
           and (slot at time zone $4)::date = ((past - interval '1 microsecond') at time zone $4)::date as is_summed
       from (select slot, slot + interval '30 minutes' as past from generate_series(
         date_bin('30 minutes', to_timestamp($2), 'epoch'), to_timestamp($3) - interval '1 microsecond', interval '30 minutes') slot) slots
       where not exists (select from closed c where c.day = (slot at time zone 'UTC')::date)
     ), entry as (
       select e.* from half_hour cross join lateral (
         select * from ledger_entry e where e.project_id = $1 and e.created_at >= half_hour.first_at and e.created_at < half_hour.past_at
           ${ofKey('e')} offset 0) e
       where not half_hour.is_summed
       union all
       -- In this order, so that the planner reads them by the primary key however many it expects.
       select e.* from (
         select * from ledger_entry where id > (select through_entry_id from traffic_mark) order by id offset 0) e
       join half_hour on half_hour.slot = date_bin('30 minutes', e.created_at, 'epoch') and half_hour.is_summed
       where e.project_id = $1 ${ofKey('e')}
     ), facts as (
       select ${by('day', `to_char(e.created_at at time zone $4, 'YYYY-MM-DD')`)} as day, e.model_id, e.key_id,
         (e.kind = 'settle')::int as succeeded, (e.kind = 'refund')::int as failed, -e.credits as credits, ${tokens}
       from entry e where e.kind in ('settle', 'refund', 'adjust')
       union all
       select ${by('day', `to_char(h.slot at time zone $4, 'YYYY-MM-DD')`)}, nullif(h.model_id, ''), nullif(h.key_id, ''), h.successes, h.failures, h.credits_charged, ${tokens}
       from half_hour cross join lateral (
         select * from usage_half_hour h where h.slot = half_hour.slot and h.project_id = $1 ${ofKey('h')} offset 0) h
       where half_hour.is_summed
       union all
       select ${by('day', `to_char(d.day, 'YYYY-MM-DD')`)}, nullif(d.model_id, ''), nullif(d.key_id, ''), d.successes, d.failures, d.credits_charged, ${tokens}
       from closed cross join lateral (
         select * from daily_summary d where d.day = closed.day and d.project_id = $1 ${ofKey('d')} offset 0) d
       -- Others have nothing but the cost of attempts.
       where d.successes > 0 or d.failures > 0 or d.credits_charged <> 0
     ), grouped as (
       select day, ${by('model', 'model_id')} as model, ${by('key', 'key_id')} as key_id, succeeded, failed, credits, ${tokens} from facts
     ), summed as (
       select grouping(day, model, key_id) > 0 as is_total, day, model, key_id,
         coalesce(sum(succeeded + failed), 0)::bigint as requests, ${sums}
       from grouped group by grouping sets ((day, model, key_id), ())
     )
     select * from summed order by is_total desc, day desc, model, key_id limit $5`,
    [projectId, from, to, timeZone, rowsMax + 2, ...(keyId === undefined ? [] : [keyId])],
  );
}
