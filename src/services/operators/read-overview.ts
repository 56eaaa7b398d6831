import type { Config } from '../../config/load-config.ts';
import { listSilences } from '../../db/operators/alarms.ts';
import { listChannelStates } from '../../db/channels/channel-settings.ts';
import { readBacklog } from '../../db/operators/backlog.ts';
import { readTraffic, readTrafficParts, type Traffic, type TrafficParts } from '../../db/operators/overview.ts';
import type { Deps } from '../../deps.ts';
import { silenceOf } from '../../domain/operators/alarm.ts';
import { scheduledJobNames } from '../../domain/tasks/scheduled-job.ts';
import { overviewRange, type OverviewRange } from '../../domain/operators/overview-range.ts';
import { readRangeTraffic } from '../../db/operators/traffic-range.ts';
import { alarmsOf } from './alarms.ts';
import { alarmsByCause, type CauseAlarm } from './alarms-by-cause.ts';
import { creditValueOf } from '../ledger/credit-value.ts';

export interface Earned extends Traffic {
  succeeded: number;
  marginMicroUsd: number;
}

export interface Overview {
  at: number;
  today: Earned & TrafficParts;
  yesterday: Earned & TrafficParts;
  /** Every hour from the beginning of yesterday to now. */
  hours: (Earned & { at: number })[];
  alarms: CauseAlarm[];
}

export interface RangeOverview {
  range: OverviewRange;
  from: number;
  to: number;
  /** The range of the same length before. */
  beforeFrom: number;
  now: Earned & TrafficParts;
  before: Earned & TrafficParts;
  bars: { at: number; until: number; requests: number; failed: number }[];
  /** When the counting began, if that was later than the beginning of the range before. */
  countedFrom: number | null;
}

/** How the gateway did in the last hour, day or week, against the one before. */
export async function readRange(
  { db, config }: Pick<Deps, 'db'> & { config: Pick<Config, 'accounting'> },
  range: OverviewRange,
  nowMs = Date.now(),
): Promise<RangeOverview> {
  const to = Math.floor(nowMs / 1_000);
  const { bars, ...span } = overviewRange(range, to);
  const [creditValue, traffic] = await Promise.all([creditValueOf({ config, db }), readRangeTraffic(db, span)]);
  const recorded = new Map(traffic.bars.map((bar) => [bar.at, bar]));
  return {
    range,
    from: span.from,
    to,
    beforeFrom: span.before,
    now: earnedBy(traffic.now, creditValue),
    before: earnedBy(traffic.before, creditValue),
    bars: bars.map((at) => ({
      ...(recorded.get(at) ?? { requests: 0, failed: 0 }),
      at,
      until: Math.min(at + span.stepSeconds, to),
    })),
    countedFrom: traffic.countedFrom,
  };
}

const earnedBy = <T extends Traffic>(of: T, creditValue: number): T & Earned => ({
  ...of,
  succeeded: of.requests - of.failed,
  marginMicroUsd: of.credits * creditValue - of.costMicroUsd,
});

/** How the gateway does today against yesterday, and what needs an operator. */
export async function readOverview({
  db,
  config,
}: Pick<Deps, 'db'> & { config: Pick<Config, 'accounting'> }): Promise<Overview> {
  const creditValue = await creditValueOf({ config, db });
  const [traffic, parts, channels, backlog, silences] = await Promise.all([
    readTraffic(db),
    readTrafficParts(db),
    listChannelStates(db),
    readBacklog(db, { scheduledJobNames, creditValue }),
    listSilences(db),
  ]);
  const earned = <T extends Traffic>(of: T): T & Earned => earnedBy(of, creditValue);
  const recorded = new Map(traffic.hours.map((hour) => [hour.at, hour]));
  return {
    at: traffic.at,
    today: { ...earned(traffic.today), ...parts.today },
    yesterday: { ...earned(traffic.yesterday), ...parts.yesterday },
    hours: hoursUntil(traffic.at).map((at) => earned({ ...nothing, ...recorded.get(at), at })),
    alarms: alarmsByCause(
      alarmsOf(channels, backlog).map((alarm) => ({ ...alarm, silence: silenceOf(silences, alarm) })),
      channels,
    ),
  };
}

const nothing: Traffic = { requests: 0, failed: 0, credits: 0, costMicroUsd: 0, p50Ms: null, p95Ms: null };

/** The beginnings of the hours from the beginning of yesterday (UTC) to a time, in unix seconds. */
function hoursUntil(at: number): number[] {
  const first = Math.floor(at / 86_400) * 86_400 - 86_400;
  return Array.from({ length: Math.floor((at - first) / 3_600) + 1 }, (_, index) => first + index * 3_600);
}
