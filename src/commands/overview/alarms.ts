import type { ChannelReason, ChannelState } from '../../db/channel-settings.ts';
import type { Backlog } from '../../db/overview.ts';

/** Something that needs an operator. */
export interface Alarm {
  kind: 'channel' | 'unknown_outcome' | 'callbacks' | 'job';
  /** The name of the channel or job. Empty for a count. */
  subject: string;
  /** What is wrong, in a sentence without a full stop. */
  message: string;
  /** What to do, in sentences. */
  remedy: string;
  /** Unix seconds. */
  since: number | null;
}

/** The alarms of the overview: broken channels first, then what waits for a decision. */
export const alarmsOf = (channels: readonly ChannelState[], backlog: Backlog): Alarm[] => [
  ...channels.filter(({ enabled }) => enabled).flatMap(channelAlarms),
  ...channelsMissing(channels),
  ...unknownOutcomes(backlog),
  ...lateCallbacks(backlog),
  ...failedJobs(backlog),
];

const words: Record<ChannelReason['kind'], { is: string; remedy: string } | null> = {
  open: {
    is: 'is tripped',
    remedy:
      'Its calls fail, so it is left out and tried again by itself. Test it to see what the provider answers now.',
  },
  resting: {
    is: 'cools down',
    remedy: 'It comes back by itself. If it does not, check the rate limit and the account at the provider.',
  },
  alarm: { is: 'needs a look', remedy: 'Check its credential and the account at the provider, then test it.' },
  not_drawn: {
    is: 'is not drawn',
    remedy: "The provider's list lacks the model. Correct its name in the catalog, or switch the list check off.",
  },
  half_open: null,
};

/** One alarm for each channel and kind of trouble, however many models it concerns. */
function channelAlarms({ name, reasons }: ChannelState): Alarm[] {
  return (['alarm', 'open', 'resting', 'not_drawn'] as const).flatMap((kind): Alarm[] => {
    const those = reasons.filter((reason) => reason.kind === kind);
    const [first] = those;
    const word = words[kind];
    if (!first || !word) return [];
    const models = those.some(({ model }) => model === '*')
      ? 'all models'
      : those.length === 1
        ? first.model
        : `${those.length} models`;
    const why = first.reason === null ? '' : ` (${first.reason.replaceAll('_', ' ')})`;
    const since = Math.min(...those.map((reason) => reason.since ?? Infinity));
    return [
      {
        kind: 'channel',
        subject: name,
        message: `${name} ${word.is} for ${models}${why}`,
        remedy: word.remedy,
        since: Number.isFinite(since) ? since : null,
      },
    ];
  });
}

const channelsMissing = (channels: readonly ChannelState[]): Alarm[] =>
  channels.some(({ enabled }) => enabled)
    ? []
    : [
        {
          kind: 'channel',
          subject: '',
          message: 'No channel is enabled',
          remedy: 'Every request is refused. Enable a channel, or add one with `tollgate channels add`.',
          since: null,
        },
      ];

const unknownOutcomes = ({ unknownOutcomes: count }: Backlog): Alarm[] =>
  count === 0
    ? []
    : [
        {
          kind: 'unknown_outcome',
          subject: '',
          message: `${counted(count, 'task has', 'tasks have')} an unknown outcome`,
          remedy:
            "The provider's answer was lost, and it may have billed the job. Look it up there and record the outcome.",
          since: null,
        },
      ];

const lateCallbacks = ({ lateCallbacks: count }: Backlog): Alarm[] =>
  count === 0
    ? []
    : [
        {
          kind: 'callbacks',
          subject: '',
          message: `${counted(count, 'callback is', 'callbacks are')} more than five minutes late`,
          remedy: 'Check that a worker runs and that Temporal answers. Then run the job process-pending-callbacks.',
          since: null,
        },
      ];

const failedJobs = ({ failedJobs: runs }: Backlog): Alarm[] =>
  runs.map(({ name, state, endedAt }) => ({
    kind: 'job',
    subject: name,
    message: `The last run of ${name} ${state === 'lost' ? 'was interrupted' : 'failed'}`,
    remedy: 'Read its summary and the log of the worker, repair the cause, and run the job again.',
    since: endedAt,
  }));

const counted = (count: number, one: string, many: string): string =>
  `${count >= 1_000 ? '1,000 or more' : count} ${count === 1 ? one : many}`;
