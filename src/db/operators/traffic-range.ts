import type { Database } from '../database.ts';
import { unixSeconds } from '../unix-seconds.ts';
import type { Traffic, TrafficParts } from './overview.ts';

/** A range from `from` until now, and the range of the same length before it, which begins at `before`. Both are Unix seconds. */
export interface TrafficSpan {
  from: number;
  before: number;
  /** The width of a bar. */
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
  const [beginnings] = await database.query<{ counted: number | null; entered: number | null }>(
    'overview-counted-from',
    `select (select ${unixSeconds('slot')} from traffic order by slot limit 1) as counted,
       (select ${unixSeconds('created_at')} from ledger_entry where kind in ('settle', 'refund') order by id limit 1) as entered`,
  );
  const { counted: firstCounted, entered: firstEntered } = beginnings ?? { counted: null, entered: null };
  // Requests that ended before the first count are missing.
  const isPartial =
    firstCounted !== null && firstEntered !== null && firstCounted > span.before && firstEntered < firstCounted;
  const classes = rows.filter(({ storedClass }) => storedClass !== null);
  return {
    now: trafficOf(
      classes.filter(({ isNow }) => isNow),
      unknown?.now,
    ),
    before: trafficOf(
      classes.filter(({ isNow }) => !isNow),
      unknown?.before,
    ),
    bars: rows.flatMap(({ bar, succeeded, failed }) =>
      bar === null ? [] : [{ at: bar, requests: succeeded + failed, failed }],
    ),
    countedFrom: isPartial ? firstCounted : null,
  };
}

// The classes of `sum_traffic.sql`. Those of tasks are `taskClassMax` less the class of their time.
const taskClassMax = -1_000;
const refusedClass = -2;
const leftClass = -3;

function trafficOf(parts: readonly Part[], unknownCosts = 0): Traffic & TrafficParts {
  const total = (of: (part: Part) => number): number => parts.reduce((sum, part) => sum + of(part), 0);
  const failedAs = (stored: number): number =>
    total(({ storedClass, failed }) => (storedClass === stored ? failed : 0));
  const timed = parts.flatMap(({ storedClass: stored, succeeded }) => {
    if (stored === null || succeeded === 0) return [];
    const isMedia = stored <= taskClassMax;
    return [{ isMedia, latencyClass: isMedia ? taskClassMax - stored : stored, succeeded }];
  });
  const chats = timed.filter(({ isMedia }) => !isMedia);
  const media = timed.filter(({ isMedia }) => isMedia);
  return {
    requests: total(({ succeeded, failed }) => succeeded + failed),
    failed: total(({ failed }) => failed),
    credits: total(({ credits }) => credits),
    costMicroUsd: total(({ costMicroUsd }) => costMicroUsd),
    p50Ms: percentileMs(timed, 0.5),
    p95Ms: percentileMs(timed, 0.95),
    refused: failedAs(refusedClass),
    left: failedAs(leftClass),
    unknownCosts,
    chatP50Ms: percentileMs(chats, 0.5),
    mediaP50Ms: percentileMs(media, 0.5),
  };
}

/** The time within which a share of the requests succeeded: the middle of its class. Null if none succeeded. */
function percentileMs(timed: readonly { latencyClass: number; succeeded: number }[], share: number): number | null {
  const all = timed.reduce((sum, { succeeded }) => sum + succeeded, 0);
  let reached = 0;
  for (const { latencyClass, succeeded } of timed.toSorted((a, b) => a.latencyClass - b.latencyClass)) {
    reached += succeeded;
    // The classes of `latency_class.sql` are 5 % wide.
    if (reached >= share * all) return 1.05 ** (latencyClass + 0.5);
  }
  return null;
}
