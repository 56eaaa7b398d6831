import { partColumns, tokenColumns, tokenCounts, type TokenCounts } from '../../domain/catalog/token-counts.ts';
import type { SpendGroup, SpendMeasure } from '../../domain/ledger/usage-group.ts';
import type { Database } from '../database.ts';
import { unixSeconds } from '../unix-seconds.ts';

export interface SpendRange {
  /** Of every project if absent. */
  projectId?: string | undefined;
  keyId?: string | undefined;
  /** Unix seconds: from this one on, and before the other. */
  from: number;
  to: number;
  /** A time zone of the database, by which hours and days are cut. */
  timeZone: string;
  groups: readonly SpendGroup[];
  /** So many groups, apart from days and hours, stay apart: those with the most of `measure`. All others are one. All stay apart if absent. */
  top?: number | undefined;
  measure: SpendMeasure;
}

/** What requests came to. What is not grouped by is null, and so is what the group does not have. */
export interface Spend extends TokenCounts {
  /** `YYYY-MM-DD` */
  day: string | null;
  /** `YYYY-MM-DDTHH:00` */
  hour: string | null;
  model: string | null;
  projectId: string | null;
  projectName: string | null;
  keyId: string | null;
  keyName: string | null;
  channelId: string | null;
  /** The present name of the channel; null if it was deleted. */
  channel: string | null;
  /** Null if the catalog does not have the model any more. */
  type: string | null;
  /** All groups that are not among the largest, as one. */
  isRest: boolean;
  requests: number;
  succeeded: number;
  /** Refunded for another reason than a refusal, also canceled by the client. */
  failed: number;
  refused: number;
  /** The client left or canceled. Those that were charged are among the succeeded, the others among the failed. */
  left: number;
  leftCharged: number;
  /** Charged, less what was given back in the range. */
  credits: number;
  costMicroUsd: number;
  /** Calls whose cost is unknown, since `readCountedFrom`. */
  unknownCosts: number;
}

const sumNames = [
  'successes',
  'failures',
  'refusals',
  'left_charged',
  'left_refunded',
  'credits_charged',
  'cost_micro_usd',
  'unknown_costs',
  ...tokenColumns,
];
const who = 'project_id, key_id, model_id, channel_id';
const factList = `${who}, ${sumNames.join(', ')}`;
/** Sums of float8 take a fraction of the time of sums of bigint, and are exact as far as the numbers of JSON are. */
const sums = sumNames.map((name) => `sum(${name}::float8) as ${name}`).join(', ');
const isAnything = sumNames.map((name) => `${name} <> 0`).join(' or ');
/** Texts, empty where there is none, because they are joined. */
const dimensions = 'model_id, project_id, key_id, channel_id, type';
const onlyIf = (condition: string, column: string): string =>
  `case when ${condition} then ${column} else '' end as ${column.replace('facts.', '')}`;
const largeDimensions = dimensions.replaceAll(/\w+/g, (name) => onlyIf('is_large', name));

/**
 * Adds up what requests came to in a range of time, and all of them together as the first row. Days (UTC) whose summaries are frozen are read
 * from these, other whole half hours from usage_slot with the entries since, and the rest from the entries, so it is exact at the time of
 * the call. A frozen day counts as the day of another zone that has most of it, and its half hours of the other day are moved to that one.
 * A request counts when it ended, the cost of a call when the call began. A half hour that the range cuts has the costs of requests that ended
 * within an hour. Returns at most `rowsMax` rows beside the total, and one more where there are more, which the total then lacks.
 */
export async function sumSpend(
  database: Database,
  { projectId, keyId, from, to, timeZone, groups, top, measure }: SpendRange,
  rowsMax: number,
): Promise<(Spend & { isTotal: boolean })[]> {
  const ofOwner = (table: string): string =>
    `${projectId === undefined ? '' : `and ${table}.project_id = $6`} ${keyId === undefined ? '' : `and ${table}.key_id = $7`}`;
  const isOfZone = timeZone !== 'UTC' && groups.includes('day');
  const { rows, names } = await database.transaction('begin read only', async (query) => {
    await query('sum-spend-settings', `select ${settings}`);
    const rows = await query<SummedRow>(
      `sum-spend${isOfZone ? '-of-zone' : ''}${top === undefined ? '' : '-top'}${projectId === undefined ? '' : '-of-project'}${keyId === undefined ? '' : '-of-key'}`,
      `with typed_values as (select $6::text, $7::text, $8::int, $9::text), ${periods},
       found as (
         select begun, closed_into, is_moved, ${factList} from mark cross join lateral spend_facts(mark.entry_id, ${maxBigint}) fresh
           join half_hour on half_hour.slot = date_bin('30 minutes', fresh.at, 'epoch') and half_hour.is_summed
         where true ${ofOwner('fresh')}
         union all
         select ${begun('cut.at')}, closed_into, is_moved, ${factList} from half_hour cross join lateral spend_facts(
           (select first_entry_since(half_hour.first_at - interval '1 minute') - 1), (select first_entry_since(half_hour.past_at + interval '1 hour') - 1)) cut
         where not half_hour.is_summed and cut.at >= half_hour.first_at and cut.at < half_hour.past_at ${ofOwner('cut')}
         union all
         select begun, closed_into, is_moved, ${factList} from half_hour cross join lateral (
           select ${factList} from usage_slot u where u.slot = half_hour.slot ${ofOwner('u')} offset 0) u
         where half_hour.is_summed
       ), ${isOfZone ? movedFacts : `facts as (select begun, ${factList} from found`}
         union all
         select begun, ${factList} from closed cross join lateral (
           select ${factList} from daily_summary d where d.day = closed.day ${ofOwner('d')} offset 0) d
       ), ${grouped}, ${top === undefined ? `summed as (select false as is_rest, grouped.* from grouped where ${isAnything})` : summedLargest},
       shown as (select * from summed limit $5)
       -- What is sorted by stands first, because PostgreSQL finds a column behind texts by walking through these.
       select ${unixSeconds('begun')} as begun_at, is_rest, credits_charged as credits, cost_micro_usd, successes + failures as requests,
         successes as succeeded, failures - greatest(refusals, 0) as failed,
         -- Days that an earlier release closed have none, and half hours that are moved from them do.
         greatest(refusals, 0) as refused, left_charged + left_refunded as "left", left_charged, unknown_costs, input_tokens, output_tokens,
         ${partColumns.join(', ')}, nullif(model_id, '') as model,
         nullif(project_id, '') as project_id, nullif(key_id, '') as key_id, nullif(channel_id, '') as channel_id, nullif(type, '') as type
       from shown order by begun_at desc, is_rest, credits desc, cost_micro_usd desc`,
      [from, to, timeZone, groups, rowsMax + 1, projectId ?? null, keyId ?? null, top ?? null, measure],
    );
    const ids = (['projectId', 'keyId', 'channelId'] as const).map((of) => [...new Set(rows.map((row) => row[of]))]);
    return { rows, names: await query<{ id: string; name: string }>('names-of-spend', namesByIds, ids) };
  });
  const nameById = new Map(names.map(({ id, name }) => [id, name]));
  const nameOf = (id: string | null): string | null => nameById.get(id ?? '') ?? null;
  const begunOf = (group: SpendGroup, at: number | null, form: string): string | null =>
    at === null || !groups.includes(group) ? null : new Date(at * 1_000).toISOString().slice(0, form.length);
  const counts = countNames.map((name) => [name, rows.reduce((sum, row) => sum + row[name], 0)]);
  const total = Object.fromEntries(counts) as Record<(typeof countNames)[number], number>;
  const shown = rows.map(({ begunAt, ...row }) => {
    const [day, hour] = [begunOf('day', begunAt, 'YYYY-MM-DD'), begunOf('hour', begunAt, 'YYYY-MM-DDTHH:00')];
    const named = { projectName: nameOf(row.projectId), keyName: nameOf(row.keyId), channel: nameOf(row.channelId) };
    return { ...row, ...named, isTotal: false, day, hour };
  });
  return [{ ...noGroup, ...noChannel, ...total, isRest: false, isTotal: true }, ...shown];
}

/** The beginning of a day or hour is that of the zone's clock, as if it were UTC. */
type SummedRow = Omit<Spend, 'day' | 'hour' | 'projectName' | 'keyName' | 'channel'> & { begunAt: number | null };

const countNames = [
  'requests',
  'succeeded',
  'failed',
  'refused',
  'left',
  'leftCharged',
  'credits',
  'costMicroUsd',
  'unknownCosts',
  ...tokenCounts,
] as const;
const noGroup = { day: null, hour: null, model: null, projectId: null, projectName: null, keyId: null, keyName: null };
const noChannel = { channelId: null, channel: null, type: null };

/** With less memory, what is added up is sorted on the disk, in three times the time. A plan for any groups computes all of them for each row. */
const settings = `set_config('work_mem', '32MB', true), set_config('plan_cache_mode', 'force_custom_plan', true)`;

/** The names of projects, keys and channels. To join them to all rows takes three times as long. */
const namesByIds = `select id, name from project where id = any ($1::text[])
  union all select id, name from api_key where id = any ($2::text[]) union all select id, name from channel where id = any ($3::text[])`;

const by = (group: SpendGroup): string => `'${group}' = any ($4::text[])`;

/** A half hour or a moment as the hour or the day of the zone that it belongs to, if these are asked for. */
const begun = (at: string): string =>
  `case when ${by('hour')} then date_trunc('hour', ${at} at time zone $3) when ${by('day')} then date_trunc('day', ${at} at time zone $3) end`;

/** The closed days of the range, the half hours of all others, and those that are moved to another day than their closed day counts as. */
const periods = `mark as materialized (
    select coalesce(through_entry_id, first_entry_since(clock_timestamp() - interval '99 days') - 1) as entry_id from usage_mark
  ), closed as materialized (
    -- A frozen day has all of its entries and of its cost. Summaries know nothing of hours.
    select day, day::timestamp at time zone 'UTC' as first_at, ${begun(`((day + interval '12 hours') at time zone 'UTC')`)} as begun from summary_day
    where frozen_at is not null and not ${by('hour')}
      and day >= (to_timestamp($1) at time zone 'UTC')::date and day::timestamp at time zone 'UTC' >= to_timestamp($1)
      and (day + 1)::timestamp at time zone 'UTC' <= to_timestamp($2)
  ), half_hour as materialized (
    select slot, greatest(slot, to_timestamp($1)) as first_at, least(past, to_timestamp($2)) as past_at, begun, closed_into, is_moved,
      slot >= to_timestamp($1) and (past <= to_timestamp($2) or to_timestamp($2) >= clock_timestamp())
        and slot >= clock_timestamp() - interval '98 days' and begun is not distinct from last_begun as is_summed
    from (
      select *, is_closed and (begun, last_begun) is distinct from (closed_into, closed_into) as is_moved
      -- A half hour that belongs to two days or hours of the zone is not summed: Nepal's begin at a quarter past.
      from (select *, ${begun('slot')} as begun, ${begun(`(past - interval '1 microsecond')`)} as last_begun
        from (select slot, slot + interval '30 minutes' as past, closed.begun as closed_into, closed.day is not null as is_closed
          from generate_series(
            date_bin('30 minutes', to_timestamp($1), 'epoch'), least(to_timestamp($2), clock_timestamp()) - interval '1 microsecond',
            interval '30 minutes') slot
          left join closed on closed.first_at = date_bin('1 day', slot, 'epoch')
          where closed.day is null or ($3 <> 'UTC' and ${by('day')}) offset 0) slots offset 0) begun_slots) each_half
    where not is_closed or is_moved
  )`;

const groupedOwners = `${onlyIf(by('project'), 'project_id')}, ${onlyIf(by('key'), 'key_id')}, ${onlyIf(by('channel'), 'channel_id')}`;

/** Half hours are added up before those that are moved are taken from the day that has them. */
const movedFacts = `halves as materialized (
    select begun, closed_into, is_moved, ${onlyIf(`${by('model')} or ${by('type')}`, 'model_id')}, ${groupedOwners}, ${sums}
    from found group by 1, 2, 3, 4, 5, 6, 7
  ), facts as (
    select begun, ${factList} from halves
    union all
    select closed_into, ${who}, ${sumNames.map((name) => `-${name}`).join(', ')} from halves where is_moved`;

const grouped = `typed as materialized (
    select id as model_id, coalesce(entry ->> 'type', '') as type from model where ${by('type')}
  ), grouped as (
    select begun, ${onlyIf(by('model'), 'facts.model_id')}, ${groupedOwners}, coalesce(typed.type, '') as type, ${sums}
    from facts left join typed on typed.model_id = facts.model_id group by 1, 2, 3, 4, 5, 6
  )`;

const measured = `case $9::text when 'cost' then cost_micro_usd when 'requests' then successes + failures when 'failed' then failures - refusals - left_refunded
  when 'tokens' then input_tokens + output_tokens else credits_charged end`;

/** The largest groups of the whole range apart, and all others as one. */
const summedLargest = `ranked as (
    select ${dimensions}, row_number() over (order by sum(${measured}) desc) as rank from grouped group by ${dimensions}
  ), largest as (
    select ${dimensions}, true as is_large from ranked where rank <= $8::int
  ), summed as (
    select is_large is null as is_rest, begun, ${largeDimensions}, ${sums}
    from grouped left join largest using (${dimensions}) where ${isAnything} group by 1, 2, 3, 4, 5, 6, 7
  )`;

/** From when on calls whose cost is unknown are counted, in unix seconds; null if an earlier release has added up nothing. */
export async function readCountedFrom(database: Database): Promise<number | null> {
  const text = `select ${unixSeconds('unknown_costs_from')} as at from installation`;
  return (await database.first<{ at: number | null }>('unknown-costs-from', text, []))?.at ?? null;
}

const maxBigint = '9223372036854775807';

/** Entries that one call adds up. */
const foldedMax = 20_000;

/**
 * Adds up the entries of the ledger since the last call, so that `sumSpend` has few left to read. Entries younger than `lagSeconds` wait for a
 * later call.
 */
export async function foldUsage(database: Database, lagSeconds: number): Promise<void> {
  while ((await database.value<number>('fold_usage', [lagSeconds, foldedMax])) === foldedMax);
}
