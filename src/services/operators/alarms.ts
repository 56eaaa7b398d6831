import type { ChannelReason, ChannelState } from '../../db/channels/channel-settings.ts';
import type { Backlog } from '../../db/operators/backlog.ts';
import { isAlarmName, type AlarmName } from '../../domain/operators/alarm.ts';
import type { OverviewAlarm } from './overview-alarm.ts';
import { installationConditions } from './installation-conditions.ts';

/** The alarms of the overview: broken channels first, then what waits for a decision. */
export const alarmsOf = (channels: readonly ChannelState[], backlog: Backlog): OverviewAlarm<string>[] => [
  ...channels.filter(({ enabled }) => enabled).flatMap(channelAlarms),
  ...channelsMissing(channels),
  ...installationConditions(backlog),
  ...unknownOutcomes(backlog),
  ...lateCallbacks(backlog),
  ...failedScheduledJobs(backlog),
];

const words: Record<ChannelReason['kind'], { name: AlarmName | null; is: string; remedy: string } | null> = {
  open: {
    name: 'tripped',
    is: 'is tripped',
    remedy:
      'Its calls fail, so it is left out and tried again by itself. Test it to see what the provider answers now.',
  },
  resting: {
    name: 'cooling_down',
    is: 'cools down',
    remedy: 'It comes back by itself. If it does not, check the rate limit and the account at the provider.',
  },
  alarm: {
    // Its reason.
    name: null,
    is: 'needs a look',
    remedy: 'Check its credential and the account at the provider, then test it.',
  },
  not_drawn: {
    name: 'unlisted',
    is: 'is not drawn',
    remedy: "The provider's list lacks the model. Correct its name in the catalog, or switch the list check off.",
  },
  half_open: null,
};

/** One alarm for each channel and name of trouble, however many models it concerns. */
function channelAlarms({ name: channel, reasons, credentials }: ChannelState): OverviewAlarm<string>[] {
  const refused = credentials.flatMap(({ alarm, ...credential }) => (alarm === null ? [] : { ...credential, alarm }));
  return [
    ...reasonAlarms(channel, reasons),
    ...refused.map(({ id, last4, alarm, since }): OverviewAlarm<string> => ({
      kind: 'channel',
      name: alarm,
      subject: channel,
      message: `The credential ${last4 === null ? id : `…${last4}`} of ${channel} ${isAlarmName(alarm) ? 'is refused by the provider' : `has the alarm ${alarm}`}`,
      remedy: 'Check the account of this credential. The other credentials of the channel serve meanwhile.',
      since,
    })),
  ];
}

function reasonAlarms(channel: string, reasons: readonly ChannelReason[]): OverviewAlarm<string>[] {
  return (['alarm', 'open', 'resting', 'not_drawn'] as const).flatMap((kind): OverviewAlarm<string>[] => {
    const word = words[kind];
    if (!word) return [];
    const ofKind = reasons.filter((reason) => reason.kind === kind);
    const byName = Map.groupBy(ofKind, ({ reason }) => word.name ?? reason);
    return [...byName].flatMap(([name, those]) => (name === null ? [] : channelAlarm(channel, name, word, those)));
  });
}

function channelAlarm(
  channel: string,
  name: string,
  { is, remedy }: { is: string; remedy: string },
  those: readonly ChannelReason[],
): OverviewAlarm<string> {
  const models = those.some(({ model }) => model === '*')
    ? 'all models'
    : those.length === 1
      ? (those[0]?.model ?? '')
      : `${those.length} models`;
  const reason = those[0]?.reason ?? null;
  const why = reason === null ? '' : ` (${reason.replaceAll('_', ' ')})`;
  const since = Math.min(...those.map((one) => one.since ?? Infinity));
  return {
    kind: 'channel',
    name,
    subject: channel,
    message: `${channel} ${is} for ${models}${why}`,
    remedy,
    since: Number.isFinite(since) ? since : null,
  };
}

const channelsMissing = (channels: readonly ChannelState[]): OverviewAlarm[] =>
  alarmIf(!channels.some(({ enabled }) => enabled), {
    kind: 'channel',
    name: 'no_channel',
    message: 'No channel is enabled',
    remedy: 'Every request is refused. Enable a channel, or add one with `tollgate channels add`.',
  });

const unknownOutcomes = ({ unknownOutcomes: count }: Backlog): OverviewAlarm[] =>
  alarmIf(count > 0, {
    kind: 'unknown_outcome',
    name: 'outcome_unknown',
    message: `${counted(count, 'task has', 'tasks have')} an unknown outcome`,
    remedy: "The provider's answer was lost, and it may have billed the job. Look it up there and record the outcome.",
  });

const lateCallbacks = ({ lateCallbacks: count }: Backlog): OverviewAlarm[] =>
  alarmIf(count > 0, {
    kind: 'callbacks',
    name: 'late_callbacks',
    message: `${counted(count, 'callback is', 'callbacks are')} more than five minutes late`,
    remedy: 'Check that a worker runs and that Temporal answers. Then run the job process-pending-callbacks.',
  });

const alarmIf = (fires: boolean, alarm: Omit<OverviewAlarm, 'subject' | 'since'>): OverviewAlarm[] =>
  fires ? [{ ...alarm, subject: '', since: null }] : [];

const failedScheduledJobs = ({ failedScheduledJobs: runs }: Backlog): OverviewAlarm[] =>
  runs.map(({ name, state, endedAt }) => ({
    kind: 'job',
    name: 'job_failed',
    subject: name,
    message: `The last run of ${name} ${state === 'lost' ? 'was interrupted' : 'failed'}`,
    remedy: 'Read its summary and the log of the worker, repair the cause, and run the job again.',
    since: endedAt,
  }));

const counted = (count: number, one: string, many: string): string =>
  `${count >= 1_000 ? '1,000 or more' : count} ${count === 1 ? one : many}`;
