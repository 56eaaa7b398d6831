import type { Config } from '../../config/load-config.ts';
import { listSilences } from '../../db/operators/alarms.ts';
import { listChannelStates } from '../../db/channels/channel-settings.ts';
import { readBacklog } from '../../db/operators/backlog.ts';
import { readTraffic, readTrafficParts, type Traffic, type TrafficParts } from '../../db/operators/overview.ts';
import type { Deps } from '../../deps.ts';
import { silenceOf, type Silence } from '../../domain/operators/alarm.ts';
import { scheduledJobNames } from '../../domain/tasks/scheduled-job.ts';
import { alarmsOf } from './alarms.ts';
import type { OverviewAlarm } from './overview-alarm.ts';
import { creditValueOf } from './credit-value.ts';

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
  alarms: (OverviewAlarm & { silence: Silence | null })[];
}

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
  const earned = <T extends Traffic>(of: T): T & Earned => ({
    ...of,
    succeeded: of.requests - of.failed,
    marginMicroUsd: of.credits * creditValue - of.costMicroUsd,
  });
  const recorded = new Map(traffic.hours.map((hour) => [hour.at, hour]));
  return {
    at: traffic.at,
    today: { ...earned(traffic.today), ...parts.today },
    yesterday: { ...earned(traffic.yesterday), ...parts.yesterday },
    hours: hoursUntil(traffic.at).map((at) => earned({ ...nothing, ...recorded.get(at), at })),
    alarms: alarmsOf(channels, backlog).map((alarm) => ({ ...alarm, silence: silenceOf(silences, alarm) })),
  };
}

const nothing: Traffic = { requests: 0, failed: 0, credits: 0, costMicroUsd: 0, p50Ms: null, p95Ms: null };

/** The beginnings of the hours from the beginning of yesterday (UTC) to a time, in unix seconds. */
function hoursUntil(at: number): number[] {
  const first = Math.floor(at / 86_400) * 86_400 - 86_400;
  return Array.from({ length: Math.floor((at - first) / 3_600) + 1 }, (_, index) => first + index * 3_600);
}
