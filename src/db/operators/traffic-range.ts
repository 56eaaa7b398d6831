import type { Database } from '../database.ts';
import { unixSeconds } from '../unix-seconds.ts';
import type { Traffic, TrafficParts } from './overview.ts';

/** The requests that ended from `from` on, those of the range of the same length before, and bars of `stepSeconds`. Unix seconds. */
export interface TrafficSpan {
  from: number;
  before: number;
  stepSeconds: number;
}

export interface RangeTraffic {
  now: Traffic & TrafficParts;
  before: Traffic & TrafficParts;
  bars: { at: number; requests: number; failed: number }[];
  /** When the counting began, if that was later than the beginning of the range before. */
  countedFrom: number | null;
}

interface Part {
  /** Null for the rows of bars. */
  isNow: boolean | null;
  storedClass: number | null;
  bar: number | null;
  succeeded: number;
  failed: number;
  credits: number;
  costMicroUsd: number;
}

/** Adds up the requests of a span: what `fold_traffic` has added up before, and the entries since. Times are exact to 3 %. */
export async function readRangeTraffic(database: Database, span: TrafficSpan): Promise<RangeTraffic> {
  const rows = await database.query<Part>(
    'overview-range',
    `with rest as materialized (select through_entry_id as after from traffic_mark), part as materialized (
       select slot, latency_class, succeeded, failed, credits, cost_micro_usd from traffic where slot >= to_timestamp($1)
       union all
       select s.slot, s.latency_class, s.succeeded, s.failed, s.credits, s.cost_micro_usd
       from rest cross join lateral sum_traffic(rest.after, 9223372036854775807, to_timestamp($1), 'infinity') s
     )
     select slot >= to_timestamp($2) as is_now, latency_class as stored_class, null::bigint as bar, sum(succeeded)::bigint as succeeded,
       sum(failed)::bigint as failed, sum(credits)::bigint as credits, sum(cost_micro_usd)::bigint as cost_micro_usd
     from part group by 1, 2
     union all
     select null, null, (floor(extract(epoch from slot) / $3::int) * $3::int)::bigint, sum(succeeded)::bigint, sum(failed)::bigint, 0, 0
     from part where slot >= to_timestamp($2) group by 3`,
    [span.before, span.from, span.stepSeconds],
  );
  const unknown = await database.first<{ now: number; before: number }>(
    'overview-range-unknown-costs',
    `select coalesce(sum(unknown_costs) filter (where slot >= to_timestamp($2)), 0)::bigint as now,
       coalesce(sum(unknown_costs) filter (where slot < to_timestamp($2)), 0)::bigint as before
     from (
       select slot, unknown_costs from traffic_unknown_cost where slot >= to_timestamp($1)
       union all
       select s.* from traffic_mark cross join lateral sum_unknown_costs(through_entry_id, 9223372036854775807, to_timestamp($1), 'infinity') s
     ) part`,
    [span.before, span.from],
  );
  const [begun] = await database.query<{ counted: number | null; entered: number | null }>(
    'overview-counted-from',
    `select (select ${unixSeconds('slot')} from traffic order by slot limit 1) as counted,
       (select ${unixSeconds('created_at')} from ledger_entry where kind in ('settle', 'refund') order by id limit 1) as entered`,
  );
  const { counted, entered } = begun ?? { counted: null, entered: null };
  const isPartial = counted !== null && entered !== null && counted > span.before && entered < counted;
  const classes = rows.filter(({ storedClass }) => storedClass !== null);
  return {
    now: sumOf(
      classes.filter(({ isNow }) => isNow),
      unknown?.now,
    ),
    before: sumOf(
      classes.filter(({ isNow }) => !isNow),
      unknown?.before,
    ),
    bars: rows.flatMap(({ bar, succeeded, failed }) =>
      bar === null ? [] : [{ at: bar, requests: succeeded + failed, failed }],
    ),
    countedFrom: isPartial ? counted : null,
  };
}

/** Below it are the classes of tasks, whose own class is this number less the stored one. */
const mediaBelow = -1_000;

function sumOf(parts: readonly Part[], unknownCosts = 0): Traffic & TrafficParts {
  const total = (of: (part: Part) => number, those = parts): number => those.reduce((sum, part) => sum + of(part), 0);
  const failedAs = (stored: number): number =>
    total(
      ({ failed }) => failed,
      parts.filter(({ storedClass }) => storedClass === stored),
    );
  const timed = parts.flatMap(({ storedClass: stored, succeeded }) => {
    if (stored === null || succeeded === 0) return [];
    const isMedia = stored <= mediaBelow;
    return [{ isMedia, latencyClass: isMedia ? mediaBelow - stored : stored, succeeded }];
  });
  return {
    requests: total(({ succeeded, failed }) => succeeded + failed),
    failed: total(({ failed }) => failed),
    credits: total(({ credits }) => credits),
    costMicroUsd: total(({ costMicroUsd }) => costMicroUsd),
    p50Ms: middleClass(timed, 0.5),
    p95Ms: middleClass(timed, 0.95),
    refused: failedAs(-2),
    left: failedAs(-3),
    unknownCosts,
    chatP50Ms: middleClass(
      timed.filter(({ isMedia }) => !isMedia),
      0.5,
    ),
    mediaP50Ms: middleClass(
      timed.filter(({ isMedia }) => isMedia),
      0.5,
    ),
  };
}

/** The middle of the first class by which a share of the requests had succeeded; null if none did. */
function middleClass(timed: readonly { latencyClass: number; succeeded: number }[], share: number): number | null {
  const all = timed.reduce((sum, { succeeded }) => sum + succeeded, 0);
  let reached = 0;
  for (const { latencyClass, succeeded } of timed.toSorted((a, b) => a.latencyClass - b.latencyClass)) {
    reached += succeeded;
    // The classes of `latency_class.sql` are 5 % wide.
    if (reached >= share * all) return 1.05 ** (latencyClass + 0.5);
  }
  return null;
}
